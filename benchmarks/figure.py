"""Line charts as SVG text, with logarithmic axes: what the scripts of this folder draw."""

import math

WIDTH, HEIGHT = 640, 400
LEFT, RIGHT, TOP, BOTTOM = 80, 170, 44, 56
COLOURS = ["#1f5fa8", "#c2461c", "#2f8f4e", "#7a4fa3", "#8a6d1a", "#444444"]
STYLE = 'font-family="DejaVu Sans, sans-serif"'


def escaped(text):
    return str(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def ticks(low, high):
    """Powers of ten, or 1-2-5 steps where there are few of them, that cover low..high."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    steps = (1,) if last - first > 3 else (1, 2, 5)
    return [m * 10.0**e for e in range(first, last + 1) for m in steps if low * 0.999 <= m * 10.0**e <= high * 1.001]


def shown(value):
    for size, suffix in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:g}{suffix}"
    return f"{value:g}"


def line_chart(title, x_label, y_label, series):
    """`series`: {name: [(x, y), ...]}, all positive. -> SVG text."""
    points = [point for line in series.values() for point in line]
    x_low, x_high = min(x for x, _ in points), max(x for x, _ in points)
    y_low, y_high = min(y for _, y in points) / 1.3, max(y for _, y in points) * 1.3
    if x_low == x_high:
        x_low, x_high = x_low / 2, x_high * 2

    def place(x, y):
        across = math.log(x / x_low) / math.log(x_high / x_low)
        up = math.log(y / y_low) / math.log(y_high / y_low)
        return LEFT + across * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - up * (HEIGHT - TOP - BOTTOM)

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" {STYLE} font-size="12">',
           f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
           f'<text x="{LEFT}" y="24" font-size="15" font-weight="bold">{escaped(title)}</text>']
    for value in ticks(x_low, x_high):
        x, bottom = place(value, y_low)
        out.append(f'<line x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{bottom:.1f}" stroke="#e4e4e4"/>')
        out.append(f'<text x="{x:.1f}" y="{bottom + 18:.1f}" text-anchor="middle">{shown(value)}</text>')
    for value in ticks(y_low, y_high):
        left, y = place(x_low, value)
        out.append(f'<line x1="{left:.1f}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}" stroke="#e4e4e4"/>')
        out.append(f'<text x="{left - 8:.1f}" y="{y + 4:.1f}" text-anchor="end">{shown(value)}</text>')
    for number, (name, line) in enumerate(series.items()):
        colour = COLOURS[number % len(COLOURS)]
        places = [place(x, y) for x, y in sorted(line)]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        out.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        out += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in places]
        x, y = WIDTH - RIGHT + 12, TOP + 16 + 20 * number
        out.append(f'<rect x="{x}" y="{y - 9}" width="12" height="12" fill="{colour}"/>')
        out.append(f'<text x="{x + 18}" y="{y + 2}">{escaped(name)}</text>')
    middle = (LEFT + WIDTH - RIGHT) / 2
    out.append(f'<text x="{middle}" y="{HEIGHT - 14}" text-anchor="middle">{escaped(x_label)}</text>')
    out.append(f'<text transform="translate(20 {(TOP + HEIGHT - BOTTOM) / 2}) rotate(-90)" text-anchor="middle">{escaped(y_label)}</text>')
    return "\n".join([*out, "</svg>", ""])
