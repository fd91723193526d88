"""Computes the samples of a .jsonl file without samegrad: usage check_text.py FILE SAMPLES CONTEXT.

SAMPLES holds, a line, [inputs, targets] of each sample as samegrad built it. Ends with an error at a difference.
"""
import json
import sys

END, IGNORE = 255, -100


def pairs_of(line):
    """The tokens of a line, each with its label."""

    def plain(text):
        return [(byte, IGNORE) for byte in text.encode()]

    def completion(text):
        return [(byte, byte if text else IGNORE) for byte in text.encode() + bytes([END])]

    if "text" in line:
        return [(byte, byte) for byte in line["text"].encode() + bytes([END])]
    if "messages" in line:
        pairs = []
        for message in line["messages"]:
            content = completion if message["role"] == "assistant" else plain
            pairs += plain(message["role"] + ": ") + content(message["content"]) + plain("\n")
        return pairs
    if "input_ids" in line:
        return list(zip(line["input_ids"], line.get("labels", line["input_ids"])))
    return plain(line["prompt"]) + completion(line["completion"] if "completion" in line else line["answer"])


def main():
    data, samples, context = sys.argv[1], sys.argv[2], int(sys.argv[3])
    with open(data, encoding="utf-8") as file:
        expected = []
        for line in file:
            pairs = pairs_of(json.loads(line))[:context]
            expected.append([[token for token, _ in pairs[:-1]], [label for _, label in pairs[1:]]])
    with open(samples, encoding="utf-8") as file:
        built = [json.loads(line) for line in file]
    assert built == expected, "the samples differ"


main()
