"""Prints the expected numbers of parameter_spec_test.cpp and inverse_normal_test.cpp, from Python's own normal quantile
and a Philox4x32-10 written here."""

from statistics import NormalDist

SEED, STREAM_INITIAL_WEIGHTS, DEVIATION = 42, 2, 0.02


def philox(counter, key):
    c, k = list(counter), list(key)
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(b >> 32) ^ c[1] ^ k[0], b & 0xFFFFFFFF, (a >> 32) ^ c[3] ^ k[1], a & 0xFFFFFFFF]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return c


assert philox((0, 0, 0, 0), (0, 0)) == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]  # Random123's known answer

key = (SEED ^ (STREAM_INITIAL_WEIGHTS * 0x85EBCA6B & 0xFFFFFFFF), 0)
normal = NormalDist()
for index, element in [(0, 0), (0, 1), (0, 2), (0, 3), (0, 767), (2, 4), (2, 49151), (26, 511)]:
    bits = philox((element // 4, 0, index, 0), key)[element % 4]
    print(f"{{{index}, {element}, {DEVIATION * normal.inv_cdf((bits + 0.5) / 2**32)!r}}},")

print()
for p in [2**-33, 1e-8, 1e-4, 0.01, 0.0749, 0.0751, 0.3, 0.5, 0.6, 0.9249, 0.9251, 0.999, 1 - 2**-33]:
    print(f"{{{p!r}, {normal.inv_cdf(p)!r}}},")
