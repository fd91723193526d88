"""Checks the lesson's files without samegrad: usage check_lesson.py FOLDER SEED SHORTEST SPLIT LONGEST.

The labels are recomputed from the rule, and every token and length from an own Philox4x32-10 keyed as
samegrad/data/lesson_data.h says. Ends with an error at the first difference.
"""
import json
import pathlib
import sys

MASK = 0xFFFFFFFF
STREAM = 1  # PhiloxStream::kLessonData


def philox(counter, key):
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c0, 0xCD9E8D57 * c2
        c0, c1, c2, c3 = (p1 >> 32) ^ c1 ^ k0, p1 & MASK, (p0 >> 32) ^ c3 ^ k1, p0 & MASK
        k0, k1 = (k0 + 0x9E3779B9) & MASK, (k1 + 0xBB67AE85) & MASK
    return c0, c1, c2, c3


def draw(count, seed, split, sample, position):
    seed %= 1 << 64
    key = ((seed & MASK) ^ (STREAM * 0x85EBCA6B & MASK), seed >> 32)
    block = 0
    while True:
        for bits in philox((position, sample, split, block), key):
            product = bits * count
            if product % (1 << 32) >= (1 << 32) % count:
                return product >> 32
        block += 1


def expected(seed, split, sample, in_short_pool, shortest, middle, longest):
    least, most = (shortest, middle) if in_short_pool else (middle + 1, longest)
    length = least + draw(most - least + 1, seed, split, sample, 0)
    return [1 + draw(5, seed, split, sample, 1 + t) for t in range(length)]


def labels(tokens):
    return [(x + (left >= 4)) % 4 for x, left in zip(tokens, [0] + tokens)]


def main():
    folder = pathlib.Path(sys.argv[1])
    seed, shortest, middle, longest = map(int, sys.argv[2:])
    for split, name in enumerate(("train", "validation", "test")):
        lines = [json.loads(line) for line in (folder / f"{name}.jsonl").read_text().splitlines()]
        for number, line in enumerate(lines):
            assert list(line) == ["id", "split", "tokens", "labels"], (name, number, list(line))
            assert (line["id"], line["split"]) == (number, name), (name, number)
            short = number < len(lines) // 2
            assert (shortest if short else middle + 1) <= len(line["tokens"]) <= (middle if short else longest)
            assert line["labels"] == labels(line["tokens"]), f"{name}:{number + 1}: labels break the rule"
            want = expected(seed, split, number, short, shortest, middle, longest)
            assert line["tokens"] == want, f"{name}:{number + 1}: tokens are not those of the seed"


main()
