"""Bits per byte of a byte-unigram model on the validation completions: what a model knows that has only counted bytes.

    python3 unigram.py TRAIN.jsonl VALIDATION.jsonl [--metrics outputs/metrics.jsonl]

Probabilities are the frequencies in the train completions, one added to each of the 256 counts; the end token (id 255, a
byte that no text holds) counts like a byte. With a run's metrics, the bits per byte of its last validation (loss sum / tokens
/ ln 2) stand beside it; exit 3 where the model saw another number of bytes, or is not better.
"""

import argparse
import json
import math
import sys

SYMBOLS = 256
END = 255


def supervised_bytes(path):
    """Every byte of every completion, and the end token after each that is not empty."""
    with open(path, encoding="utf-8") as file:
        for line in file:
            completion = json.loads(line)["completion"].encode()
            if completion:
                yield from completion
                yield END


def bits_per_byte(train_path, validation_path):
    """-> (bits per byte, number of bytes) of the validation file."""
    counts = [1] * SYMBOLS
    for byte in supervised_bytes(train_path):
        counts[byte] += 1
    bits = [-math.log2(count / sum(counts)) for count in counts]
    validation = list(supervised_bytes(validation_path))
    return math.fsum(bits[byte] for byte in validation) / len(validation), len(validation)


def last_validation(metrics_path):
    """-> (sum of losses in nats, number of supervised tokens)."""
    with open(metrics_path, encoding="utf-8") as file:
        found = [line["validation"] for line in map(json.loads, file) if "validation" in line]
    return found[-1]["loss_sum"], found[-1]["supervised_tokens"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("train")
    parser.add_argument("validation")
    parser.add_argument("--metrics", help="metrics.jsonl of a run with this validation file")
    arguments = parser.parse_args()
    unigram, tokens = bits_per_byte(arguments.train, arguments.validation)
    print(f"byte unigram: {unigram:.4f} bits per byte over {tokens} validation bytes")
    if arguments.metrics is None:
        return 0
    loss_sum, model_tokens = last_validation(arguments.metrics)
    if model_tokens != tokens:
        print(f"[dpkg] validation bytes: the model saw {model_tokens}, the file holds {tokens}", file=sys.stderr)
        return 3
    model = loss_sum / tokens / math.log(2)
    print(f"samegrad:     {model:.4f} bits per byte over the same bytes")
    if not model < unigram:
        print("[dpkg] the model is not better than the unigram; it needs more updates", file=sys.stderr)
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main())
