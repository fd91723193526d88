"""Charts as SVG text: lines over logarithmic axes, and bars from 0. draw.py says which."""

import math

LEFT, RIGHT, TOP, BOTTOM = 70, 24, 66, 54
COLOURS = ["#1f5fa8", "#c2461c", "#2f8f4e", "#7a4fa3", "#6b6b6b"]
STYLE = 'font-family="DejaVu Sans, sans-serif" font-size="12"'
LETTER = 6.8  # the width of a letter at most


def escaped(text):
    return str(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def text(x, y, words, anchor="start", more=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{more}>{escaped(words)}</text>'


def line(x1, y1, x2, y2, colour, width=1):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" stroke-width="{width}"/>'


def steps(low, high):
    """Powers of ten, or 1-2-5 steps where there are few of them, that lie in low..high."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    factors = (1,) if last - first > 3 else (1, 2, 5)
    return [m * 10.0**e for e in range(first, last + 1) for m in factors if low * 0.999 <= m * 10.0**e <= high * 1.001]


def shown(value):
    for size, suffix in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if value >= size and value >= 10_000:
            return f"{value / size:.3g}{suffix}"
    return f"{value:,.4g}"


def shown_bytes(value):
    for size, suffix in ((2**20, "MiB"), (2**10, "KiB")):
        if value >= size:
            return f"{value / size:.3g} {suffix}"
    return f"{value:g} B"


def heading(title, names):
    """The title, and under it each name with its colour."""
    out = [text(LEFT, 22, title, more=' font-size="15" font-weight="bold"')]
    x = LEFT
    for number, name in enumerate(names):
        out.append(f'<rect x="{x:.1f}" y="35" width="11" height="11" fill="{COLOURS[number]}"/>')
        out.append(text(x + 16, 45, name))
        x += 16 + LETTER * len(name) + 16
    return out


def line_chart(title, x_label, y_label, series, width=640, height=400, x_shown=shown, every=1):
    """`series`: {name: [(x, y), ...]}, all positive; x is marked at every so many-th point of the first. -> SVG elements."""
    points = [point for one in series.values() for point in one]
    x_low, x_high = min(x for x, _ in points), max(x for x, _ in points)
    y_low, y_high = min(y for _, y in points) / 1.3, max(y for _, y in points) * 1.3
    bottom, right = height - BOTTOM, width - RIGHT

    def place(x, y):
        across = math.log(x / x_low) / math.log(x_high / x_low)
        up = math.log(y / y_low) / math.log(y_high / y_low)
        return LEFT + 16 + across * (right - LEFT - 32), bottom - up * (bottom - TOP)

    out = heading(title, series)
    for value in sorted(x for x, _ in next(iter(series.values())))[::every]:
        x, _ = place(value, y_low)
        out += [line(x, TOP, x, bottom, "#e4e4e4"), text(x, bottom + 18, x_shown(value), "middle")]
    for value in steps(y_low, y_high):
        _, y = place(x_low, value)
        out += [line(LEFT, y, right, y, "#e4e4e4"), text(LEFT - 8, y + 4, shown(value), "end")]
    for colour, one in zip(COLOURS, series.values()):
        places = [place(x, y) for x, y in sorted(one)]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        out.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        out += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in places]
    out.append(text((LEFT + right) / 2, height - 12, x_label, "middle"))
    middle = f"translate(18 {(TOP + bottom) / 2:.1f})"
    out.append(f'<text transform="{middle} rotate(-90)" text-anchor="middle">{escaped(y_label)}</text>')
    return out


def bar_chart(title, x_label, names, groups, width=640):
    """`groups`: {group: [(value, least, largest, remark) by name]}. -> (SVG elements, height)"""
    bar, gap, first, remark = 20, 22, 200, 110
    most = max(one[2] for bars in groups.values() for one in bars)
    bottom = TOP + len(groups) * (len(names) * bar + gap)
    scale = (width - first - RIGHT - remark) / most
    step = next(one for one in (0.5, 1, 2, 5, 10, 20, 50, 100) if most / one <= 8)
    out = heading(title, names)
    for number in range(int(most / step) + 1):
        x = first + number * step * scale
        out += [line(x, TOP, x, bottom, "#e4e4e4"), text(x, bottom + 18, f"{number * step:g}", "middle")]
    y = TOP + gap / 2
    for group, bars in groups.items():
        out.append(text(first - 10, y + len(bars) * bar / 2 + 4, group, "end"))
        for colour, (value, least, largest, words) in zip(COLOURS, bars):
            middle = y + bar / 2
            out.append(f'<rect x="{first}" y="{y + 2:.1f}" width="{value * scale:.1f}" height="{bar - 4}" fill="{colour}"/>')
            if largest > least:
                out.append(line(first + least * scale, middle, first + largest * scale, middle, "#222222", 1.5))
            out.append(text(first + largest * scale + 6, middle + 4, words))
            y += bar
        y += gap
    out.append(text((first + width - remark) / 2, bottom + 42, x_label, "middle"))
    return out, bottom + 56


def svg(charts, width, height, columns=1):
    """Charts of one size, each `width` x `height`, in rows of `columns`. -> SVG text"""
    whole, rows = width * columns, -(-len(charts) // columns)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {whole} {height * rows}" width="{whole}" {STYLE}>',
           f'<rect width="{whole}" height="{height * rows}" fill="white"/>']
    for number, chart in enumerate(charts):
        out += [f'<g transform="translate({number % columns * width} {number // columns * height})">', *chart, "</g>"]
    return "\n".join([*out, "</svg>", ""])
