"""Writes the seeds of every fuzz target: `python3 tests/fuzz/make_corpus.py` (the folder `corpus` beside it). Good inputs, named
good*, which the target must accept, and the hostile kinds of their format. Files named found-* are not from here: a fuzzer found them, and they stay."""

import hashlib
import json
import pathlib
import struct

CORPUS = pathlib.Path(__file__).parent / "corpus"


def seed(target, name, data):
    folder = CORPUS / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data if isinstance(data, bytes) else data.encode())


def sha256(data):
    return hashlib.sha256(data if isinstance(data, bytes) else data.encode()).hexdigest()


def tensor_file(header, data=b""):
    text = header if isinstance(header, bytes) else (header if isinstance(header, str) else json.dumps(header)).encode()
    return struct.pack("<Q", len(text)) + text + data


def tensor(begin, end, shape=None, dtype="F32"):
    return {"dtype": dtype, "shape": [(end - begin) // 4] if shape is None else shape, "data_offsets": [begin, end]}


def safetensors():
    floats = struct.pack("<8f", *range(1, 9))
    good = {"__metadata__": {"k": "v"}, "a": tensor(0, 16, [2, 2]), "b": tensor(16, 32)}
    files = {
        "good": tensor_file(good, floats),
        "empty-tensors": tensor_file({"a": tensor(0, 0, [0]), "b": tensor(0, 0, [3, 0])}),
        "types": tensor_file({t: {"dtype": t, "shape": [0], "data_offsets": [0, 0]} for t in
                              ("F32", "F64", "I64", "U8", "F16", "BF16", "I8", "I16", "I32", "BOOL")}),
        "not-finite": tensor_file({"a": tensor(0, 32)}, struct.pack("<8f", *[float("nan"), float("inf"), -0.0, 1e38, 1e-45, 3, 4, 5])),
        "overlap": tensor_file({"a": tensor(0, 16), "b": tensor(8, 24)}, floats[:24]),
        "gap": tensor_file({"a": tensor(0, 8), "b": tensor(16, 32)}, floats),
        "backwards": tensor_file({"a": {"dtype": "F32", "shape": [2], "data_offsets": [16, 8]}}, floats),
        "overflow-shape": tensor_file({"a": {"dtype": "F32", "shape": [2**62, 2**62], "data_offsets": [0, 32]}}, floats),
        "overflow-to-zero": tensor_file({"a": {"dtype": "F64", "shape": [2**61, 8, 0], "data_offsets": [0, 0]}}),
        "overflow-offsets": tensor_file('{"a":{"dtype":"F32","shape":[1],"data_offsets":[18446744073709551612,4]}}', floats),
        "huge-number": tensor_file('{"a":{"dtype":"F32","shape":[1e400],"data_offsets":[0,4]}}', floats),
        "name-twice": tensor_file('{"a":' + json.dumps(tensor(0, 32)) + ',"a":' + json.dumps(tensor(0, 32)) + "}", floats),
        "member-twice": tensor_file('{"a":{"dtype":"F32","dtype":"F64","shape":[8],"data_offsets":[0,32]}}', floats),
        "path-names": tensor_file({"../../etc/passwd": tensor(0, 16), "/a\u0000b": tensor(16, 32)}, floats),
        "nul": tensor_file(json.dumps(good).encode() + b"\0{}", floats),
        "deep": tensor_file('{"a":' + "[" * 500 + "]" * 500 + "}", floats),
        "length-100MB": struct.pack("<Q", 100_000_000) + b'{"a":{}}',
        "length-largest": struct.pack("<Q", 2**64 - 1) + b"{}",
        "cut": tensor_file(good, floats)[:60],
    }
    for name, data in files.items():
        seed("safetensors", name, data)


def manifest():
    listed = [{"name": name, "size": 4, "sha256": sha256("x")} for name in
              ("model.safetensors", "optimizer.safetensors", "state.json", "rank-0.json")]
    good = {"format": "samegrad checkpoint", "format_version": 1, "update": 50, "run_id": "r", "facts": {}, "files": listed}
    changed = {
        "good": {}, "version": {"format_version": 3}, "negative": {"update": -1}, "huge": {"update": 2**64 - 1},
        "huge-size": {"files": [{**listed[0], "size": 2**64 - 1}, *listed[1:]]},
        "parent": {"files": [{**listed[0], "name": "../model.safetensors"}, *listed[1:]]},
        "absolute": {"files": [{**listed[0], "name": "/etc/passwd"}, *listed[1:]]},
        "nul-name": {"files": [{**listed[0], "name": "model.safetensors\0x"}, *listed[1:]]},
        "file-twice": {"files": [*listed, listed[3]]}, "no-files": {"files": []}, "facts-text": {"facts": "x"},
        "file-is-text": {"files": ["a", "b", "c", "d"]}, "run-id": {"run_id": "\x1b[2J\n"},
        "deep-facts": {"facts": json.loads("[" * 90 + "]" * 90)},
    }
    entry = {"name": "w", "size": 4, "xxh3": "ab" * 16}
    for name, tensors in {"good-tensors": [entry], "tensors-empty": [], "tensors-too-large": [entry, entry],
                          "tensors-huge": [{**entry, "size": 2**64 - 1}], "tensors-negative": [{**entry, "size": -4}],
                          "tensors-name": [{**entry, "name": "\x1b[2J" * 999}], "tensors-text": "w"}.items():
        changed[name] = {"format_version": 2, "files": [{**listed[0], "tensors": tensors}, *listed[1:]]}
    for name, change in changed.items():
        seed("manifest", name, json.dumps({**good, **change}, indent=2).removesuffix("\n}"))
    text = json.dumps(good, indent=2).removesuffix("\n}") + ',\n  "sha256": "'
    seed("manifest", "good-whole", text + sha256(text) + '"\n}\n')
    seed("manifest", "update-twice", json.dumps(good, indent=2).removesuffix("\n}").replace('"update"', '"update": 1, "update"'))
    seed("manifest", "deep", text.replace('"facts": {}', '"facts": ' + "[" * 500))


def json_files():
    state = {"format": 1, "run_id": "r", "update": 50, "hash_chain": "0" * 32, "cursor": {"update": 50, "epoch": 0},
             "schedule": {"steps_taken": 50}, "config": {"seed": 42, "plan": {"updates": 100, "virtual_ranks": 2}}}
    seeds = {
        "good": json.dumps(state), "rank": '{"virtual_rank":0,"update":50,"samples_consumed":800,"digest":"' + "0" * 64 + '"}',
        "plan": json.dumps({"format": 1, "digest": "0" * 64, "updates": 2, "plan": [[[[1, 2]], [[3]]], [[[4]], [[]]]]}),
        "plan-twice": '{"updates":1,"plan":[1],"plan":[2]}', "key-twice": '{"a":1,"b":{"c":1,"c":2}}',
        "escaped-twice": '{"a":1,"\\u0061":2}', "deep": "[" * 99 + "]" * 99, "too-deep": "[" * 101 + "]" * 101,
        "nul": b'{"update":1}\0{"update":2}', "behind": "{}{}", "huge": '{"updates":1e999}', "large": "18446744073709551615",
        "least": "-9223372036854775808", "fraction": '{"updates":1.5}', "not-utf8": b'["\xff\xc0\x80"]',
        "surrogate": '["\\ud800"]', "mark": b"\xef\xbb\xbf{}", "null": "null", "config": '{"config":{"seed":1e300}}',
    }
    for name, text in seeds.items():
        seed("json", name, text)


def checkpoint():
    def record(kind, data):
        return bytes([kind]) + struct.pack("<H", len(data)) + (data if isinstance(data, bytes) else data.encode())

    good = tensor_file({"a": tensor(0, 8)}, b"\0" * 8)
    deep = "[" * 20_000 + "]" * 20_000
    seeds = {
        "good": b"\0", "good-tensors": b"\0" + record(0, good), "good-extra": b"\0" + record(5, good),
        "good-listed": b"\0" + record(0, good) + record(10, json.dumps([{"name": "a", "size": 8, "xxh3": "ab" * 16}])),
        "damaged-listed": b"\1" + record(0, good) + record(10, json.dumps([{"name": "a", "size": 2, "xxh3": "ab" * 16}])),
        "overlap": b"\0" + record(0, tensor_file({"a": tensor(0, 8), "b": tensor(4, 12)}, b"\0" * 12)),
        "options": b"\0" + record(1, tensor_file({"__metadata__": {"options": deep[:200]}})),
        "no-options": b"\0" + record(1, tensor_file({})),
        "state-twice": b"\0" + record(2, '{"update":7,"update":8,"run_id":"r"}'),
        "state-nul": b"\0" + record(2, '{"update":7,"run_id":"r"}\0'), "state-list": b"\0" + record(2, "[7]"),
        "config-text": b"\0" + record(2, '{"update":7,"run_id":"r","config":"\\u001b[2J"}'),
        "config-list": b"\0" + record(2, '{"update":7,"run_id":"r","config":[1,[2]]}'),
        "other-rank": b"\0" + record(3, '{"virtual_rank":1}'), "unsigned-rank": b"\1" + record(3, '{"virtual_rank":1}'),
        "deep-rank": b"\1" + record(3, '{"virtual_rank":' + deep + "}"), "empty-rank": b"\1" + record(3, ""),
        "link": b"\0" + record(6, b"\0/etc/passwd"), "link-out": b"\0" + record(6, b"\2../../x"),
        "link-loop": b"\0" + record(6, b"\3rank-0.json"), "missing": b"\0" + record(7, b"\0"),
        "missing-rank": b"\1" + record(7, b"\4"), "facts-list": b"\0" + record(8, "[1,2]"), "facts-text": b"\0" + record(8, '"x"'),
        "facts-deep": b"\0" + record(8, deep), "facts-cut": b"\0" + record(8, "{"), "manifest": b"\0" + record(9, "{}"),
        "length-100MB": b"\0" + record(0, struct.pack("<Q", 100_000_000) + b"{}"),
    }
    for name, data in seeds.items():
        seed("checkpoint", name, data)


def config():
    seeds = {
        "good": (pathlib.Path(__file__).parents[2] / "configs/minimum.yaml").read_text(),
        "good-overrides": "seed: 1\n===\nplan.updates=10\nplan.stop_at=5\nmodel.layers=1\n--backend=shm\n--continuous",
        "trainer": "num_train_epochs: 3\nper_device_train_batch_size: 4\ngradient_accumulation_steps: 2\nlr_scheduler_type: linear",
        "key-twice": "plan:\n  updates: 1\n  updates: 2", "section-twice": "plan:\n  updates: 1\nplan:\n  stop_at: 2",
        "alias": "a: &a [1]\nplan: *a\n", "bomb": "a: &a [x,x,x,x]\nb: &b [*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b]\nd: [*c,*c,*c,*c]",
        "alias-loop": "&a [*a]", "alias-key": "&a ? *a : b", "tags": "!!binary plan: !!python/object x", "merge": "plan:\n  <<: {updates: 1}",
        "documents": "seed: 1\n---\nseed: 2", "deep": "[" * 300 + "]" * 300, "deep-maps": "{a: " * 300,
        "huge": "seed: 99999999999999999999\nplan: {updates: 1e400}", "negative": "plan: {updates: -1}",
        "nul": b"data:\n  train: \"a\\0b.jsonl\"\n  task: text", "nul-byte": b"seed: 1\0\nseed: 2", "not-utf8": b"seed: \xff\xc0\x80",
        "utf16": "seed: 1".encode("utf-16"), "path": "data: {task: text, train: ../../../etc/passwd}", "lists": "objective: {class_weights: [1, 2, .inf, -1]}",
        "long-key": "k" * 5000 + ": 1", "empty": "", "null": "plan:\n", "stands-still": ",", "stands-still-later": "seed: 1\n---\n]", "set-hostile": "seed: 1\n===\n=\na=\n=b\nplan.updates=\0\nseed=-1\nmodel=x\n\xff=1",
    }
    for name, data in seeds.items():
        seed("config", name, data)


def samples():
    lines = {
        "good-text": '{"text":"hello"}\n{"text":""}\n', "prompt": '{"prompt":"2+2=","completion":"4","weight":0.5,"document":"a"}\n',
        "answer": '{"prompt":"a","answer":""}\n{"prompt":"a","answer":"b"}\n',
        "good-messages": '{"messages":[{"role":"user","content":"u"},{"role":"assistant","content":"yes"}]}\n',
        "good-ids": '{"input_ids":[1,2,3],"labels":[1,-100,3]}\n{"input_ids":[0,255]}\n',
        "twice": '{"text":"a","text":"b"}\n', "two-forms": '{"text":"a","prompt":"b","completion":"c"}\n',
        "deep": '{"text":"a","x":' + "[" * 70 + "]" * 70 + "}\n", "deep-cut": '{"text":' + "[" * 2000 + "\n",
        "huge": '{"input_ids":[1e400,18446744073709551615,-1]}\n{"text":"a","weight":1e308}\n{"text":"a","weight":-1}\n',
        "nul": b'{"text":"a\\u0000b"}\n{"te\0xt":"a"}\n\0\n', "not-utf8": b'{"text":"\xff\xc0\x80"}\n', "surrogate": '{"text":"\\ud800"}\n',
        "crlf": '{"text":"a"}\r\n\r\n{"text":"b"}\r\n', "no-end": '{"text":"a"}', "blank": "\n \t\n\r\n", "mark": b'\xef\xbb\xbf{"text":"a"}\n',
        "documents": "one\ntwo\n\nthree\r\nfour\n\n\n", "stream": "a" * 40 + "\u00e9" * 20 + "\U0001f600" * 9, "end-token": b"ab\xffcd",
        "labels-short": '{"input_ids":[1,2,3],"labels":[1]}\n', "document-number": '{"text":"a","document":-9223372036854775808}\n',
        "messages-hostile": '{"messages":[{"role":"x","content":1},{}]}\n{"messages":{}}\n{"messages":[]}\n',
    }
    for name, data in lines.items():
        seed("samples", name, data)


def index():
    def entry(offset=0, line=1, length=13, inputs=2, supervised=2, end=0, weight=1.0, document=0):
        return struct.pack("<qqIIIIdQ", offset, line, length, inputs, supervised, end, weight, document)

    report = {"file": "data.jsonl", "samples": 2, "input_tokens": 4, "supervised_tokens": 4, "longest": 2, "blank_lines": 0,
              "bad_lines": 0, "cut_samples": 0, "unsupervised_samples": 0, "empty_completions": 0, "weighted_samples": 0,
              "document_samples": 0, "first_bad": [], "first_cut": [], "first_unsupervised": []}
    options = {"tokenizer": "bytes", "format": "jsonl", "context": 16, "vocabulary": 256, "skip_bad_lines": False}
    good = {"format": 3, "options": options, "file": {"bytes": 28, "sha256": sha256("x")}, "report": report}
    records = entry() + entry(14, 2)
    seeds = {
        "good": (good, records), "format": ({**good, "format": 1}, records), "one-record": (good, entry()),
        "half-record": (good, records[:70]), "far": (good, entry(2**62) + entry(-1, 2)), "long": (good, entry(length=2**32 - 1) * 2),
        "overflow": (good, entry(2**63 - 1, 1, 13) * 2), "tokens": (good, entry(inputs=2**32 - 1) * 2),
        "weight": (good, entry(weight=float("nan")) * 2), "bytes-huge": ({**good, "file": {"bytes": 1e300, "sha256": ""}}, records),
        "samples-huge": ({**good, "report": {**report, "samples": 2**64 - 1}}, records),
        "notes": ({**good, "report": {**report, "first_bad": [{"line": 1, "what": "\x1b[2J"}], "bad_lines": 1}}, records),
        "notes-hostile": ({**good, "report": {**report, "first_bad": {"line": {}}}}, records),
    }
    for name, (json_part, binary) in seeds.items():
        seed("index", name, json.dumps(json_part).encode() + b"\n===\n" + binary)
    text = json.dumps(good)
    seed("index", "deep", text.replace('"jsonl"', "[" * 500 + "]" * 500).encode() + b"\n===\n" + records)
    seed("index", "twice", text.replace('"format": 3', '"format": 3, "format": 3', 1).encode() + b"\n===\n" + records)
    whole = b"SGINDEX3" + records + text.encode() + struct.pack("<Q", len(text))
    seed("index", "good-whole", whole)
    seed("index", "json-length", b"SGINDEX3" + struct.pack("<Q", 2**64 - 1))


def data_lock():
    split = {"samples": 4, "tokens": 40, "supervised_tokens": 20, "bytes": 100, "sha256": sha256("x")}

    def lock(**changes):
        body = {"format": 1, "task": "text", "splits": {"train": split}, **changes}
        return json.dumps({**body, "digest": sha256(json.dumps(body, separators=(",", ":")))})

    seeds = {
        "good": lock(), "good-splits": lock(splits={"train": split, "validation": split}), "no-splits": lock(splits={}),
        "format": lock(format=2), "huge": lock(splits={"train": {**split, "samples": 2**64 - 1}}),
        "float": lock(splits={"train": {**split, "bytes": 1e300}}), "negative": lock(splits={"train": {**split, "tokens": -1}}),
        "path": lock(splits={"../../etc/passwd": split, "/tmp/x": split}), "nul": lock(splits={"a\0b": split}),
        "splits-list": lock(splits=[split]), "splits-text": lock(splits="train"), "task": lock(task="\x1b[2J\n"),
        "twice": lock().replace('"train":', '"train": {}, "train":'), "digest": lock().replace('"digest": "', '"digest": "0'),
        "no-digest": '{"format":1}', "deep": '{"format":' + "[" * 500,
    }
    for name, text in seeds.items():
        seed("data_lock", name, text)


def metrics():
    def line(update, run="a", kind="stopped", **changes):
        value = {"run_id": run, "kind": kind, "update": update, "action": "train", "loss_sum": 120.5, "supervised_tokens": 48,
                 "gradient_norm": 1.5, "learning_rate": 0.1, "clip_factor": 1.0, "gradient_xxh3": "a" * 32,
                 "parameters_xxh3": "b" * 32, "hash_chain": "c" * 32,
                 "ranks": [{"supervised_tokens": 24, "compute_seconds": 0.01, "wait_seconds": 0.0, "exchange_seconds": 0.0}] * 2}
        return json.dumps({**value, **changes}) + "\n"

    rank = {"supervised_tokens": 2**62, "compute_seconds": 1e308, "wait_seconds": 1e308, "exchange_seconds": -1e308}
    seeds = {
        "good": line(1) + line(2, validation={"loss_sum": 4.0, "supervised_tokens": 3}), "kinds": line(1) + line(2, kind="resumed"),
        "two-runs": line(1) + line(1, "b", "continuous") + line(2, "b", "continuous"), "weights": line(1, divisor=3.25),
        "not-finite": line(1, loss_sum="NaN", gradient_norm="Infinity"), "skip": line(1, action="skip"),
        "cut": line(1) + line(2)[:50], "blank": line(1) + "\n" + line(2), "gap": line(1) + line(3), "twice": line(1) + line(1),
        "key-twice": line(1).replace('"update": 1', '"update": 1, "update": 2'), "huge-update": line(2**63 - 1), "wraps": line(2**64 - 1),
        "float-update": line(1e300), "negative": line(-5), "huge-tokens": line(1, ranks=[rank, rank]) + line(2, ranks=[rank]),
        "huge-loss": line(1, loss_sum=1e308, supervised_tokens=1) + line(2, loss_sum=-1e308), "zero": line(1, supervised_tokens=0),
        "no-ranks": line(1, ranks=[]), "ranks-text": line(1, ranks="x"), "deep": '{"run_id":"a","kind":"stopped","update":' + "[" * 500 + "]" * 500 + "}\n",
        "nul": line(1).replace("stopped", "a\0b") + "\0\n", "list": "[1]\n" + line(1), "run-id": line(1, run="../../x\x1b[2J"), "not-utf8": line(1).encode() + b'{"run_id":"\xff"}\n',
        "small-loss": line(1, loss_sum=5e-324) + line(2, loss_sum=1e-310),
    }
    for name, text in seeds.items():
        seed("metrics", name, text)


def report():
    worst = {"parameter": "head.bias", "index": 0, "value": 1e-3, "reference": 0.0, "error": 1e-3, "allowed": 1e-6}
    parameter = {"name": "head.bias", "shape": [4], "elements": 4, "outside": 0, "different": 4, "largest_reference": 0.5, "worst": worst}
    good = {"atol": 1e-6, "rtol": 1e-4, "elements": 4, "outside": 0, "different": 4, "worst": worst, "problems": [], "parameters": [parameter]}
    changed = {
        "good": {}, "many": {"parameters": [{**parameter, "name": f"layers.{i}.weight"} for i in range(40)]}, "none": {"parameters": []},
        "huge": {"elements": 2**64 - 1}, "float": {"elements": 1e300}, "negative": {"outside": -1, "different": -(2**63)},
        "error-huge": {"parameters": [{**parameter, "worst": {**worst, "error": 1e308, "allowed": 5e-324}}]},
        "not-finite": {"parameters": [{**parameter, "worst": {**worst, "error": "NaN", "value": "Infinity"}}]},
        "names": {"parameters": [{**parameter, "name": "<script>&\"'\x1b[2J\0" + "x" * 3000}]}, "shape": {"parameters": [{**parameter, "shape": [1e300]}]},
        "tolerance": {"atol": -1.0, "rtol": 1e308}, "zero-tolerance": {"atol": 0.0, "rtol": 0.0}, "problems": {"problems": ["\n" * 50]}, "types": {"worst": []},
    }
    for name, change in changed.items():
        seed("report", name, json.dumps({**good, **change}))
    seed("report", "deep", '{"atol":' + "[" * 500)
    seed("report", "twice", json.dumps(good).replace('"atol"', '"atol": 1, "atol"'))


def failure_report():
    good = {"rank": 1, "exit_code": 2, "message": "[config] x", "culprit_rank": -1, "done": False}
    for name, change in {"good": {}, "negative": {"rank": -5}, "huge": {"rank": 2**40}, "wraps": {"exit_code": 2**64 - 1},
                         "float": {"rank": 1e300}, "text": {"rank": "1"}, "escapes": {"message": "\x1b[2J\n\0"},
                         "long": {"message": "x" * 20_000}}.items():
        seed("failure_report", name, json.dumps({**good, **change}) + "\n")
    seed("failure_report", "twice", '{"rank":1,"rank":2,"exit_code":1,"message":"","culprit_rank":-1,"done":false}')
    seed("failure_report", "deep", '{"rank":' + "[" * 500)
    seed("failure_report", "nul", b'{"rank":1,"exit_code":1,"message":"","culprit_rank":-1,"done":false}\0x')


def names():
    seed("names", "good-step", "step-0050")
    seed("names", "good-aside", ".saving-step-0050-0123abcd-123")
    seed("names", "good-temporary", ".plan.json.tmp-0123abcd-7")
    for number, name in enumerate(["step-12345", "step-00050", "step--001", "step-9223372036854775808", "step-+001", "step-",
                                   ".replaced-step-0001-0123abcd-0", ".removing-step-0001-0123abcd-007",
                                   ".saving-step-0050-0123abcd--1", ".saving-../step-0050-0123abcd-1", ".saving-step-0050-0123abcd-99999999999",
                                   "step-0050\0x", ".saving-step-0050-1-2", ".saving-step-0050-0123ABCD-1",
                                   "..a.tmp-0123abcd-7.tmp-0123abcd-8", ".tmp-0123abcd-7"]):
        seed("names", f"name-{number:02}", name)


def environment():
    torchrun = "RANK=1\nWORLD_SIZE=4\nLOCAL_RANK=1\nLOCAL_WORLD_SIZE=2\nGROUP_WORLD_SIZE=2\nMASTER_ADDR=h\nMASTER_PORT=29500\nTORCHELASTIC_RUN_ID=r\n"
    srun = "SLURM_STEP_NUM_TASKS=4\nSLURM_PROCID=2\nSLURM_LOCALID=0\nSLURM_STEP_NUM_NODES=2\nSLURM_NODEID=1\nSLURM_STEP_TASKS_PER_NODE=2(x2)\nSLURM_JOB_ID=7\nSLURM_STEP_ID=0\nMASTER_ADDR=h\nMASTER_PORT=1\n"
    seeds = {
        "good-torchrun": torchrun, "torchrun-port": torchrun.replace("29500", "65536"), "torchrun-rank": torchrun.replace("RANK=1\n", "RANK=4\n", 1),
        "huge": torchrun.replace("WORLD_SIZE=4", "WORLD_SIZE=99999999999999999999", 1), "largest": torchrun.replace("WORLD_SIZE=4", "WORLD_SIZE=2147483647", 1),
        "negative": torchrun.replace("RANK=1", "RANK=-1", 1), "nul": torchrun.replace("29500", "29\000500"),
        "good-mpirun": "OMPI_COMM_WORLD_SIZE=2\nOMPI_COMM_WORLD_RANK=1\nOMPI_COMM_WORLD_LOCAL_RANK=1\nOMPI_COMM_WORLD_LOCAL_SIZE=2\nPMIX_NAMESPACE=../../x\n",
        "good-mpiexec": "PMI_SIZE=2\nPMI_RANK=1\nMPI_LOCALRANKID=1\nMPI_LOCALNRANKS=2\n", "good-srun": srun,
        "srun-tasks": srun.replace("2(x2)", "2(x99999999999),,(x,-1(x-5),9(x"), "srun-node": srun.replace("NODEID=1", "NODEID=2147483647"),
        "fd": "RANK=0\nWORLD_SIZE=2\nLOCAL_RANK=0\nLOCAL_WORLD_SIZE=2\nSAMEGRAD_SHM_FD=3\nSAMEGRAD_STORE_FD=-1\n", "two": torchrun + srun, "empty": "RANK=\nWORLD_SIZE=\n",
        "zero": "RANK=0\nWORLD_SIZE=0\n", "local": "RANK=0\nWORLD_SIZE=2\nLOCAL_RANK=5\nLOCAL_WORLD_SIZE=9\nMASTER_ADDR=h\nMASTER_PORT=1\n",
    }
    for name, text in seeds.items():
        seed("environment", name, text)


def status_record():
    def record(identity=(), moment=(), current=0):
        who = {"magic": 0x5355544154534753, "version": 1, "bytes": 472, "rank": 1, "world": 2, "pid": 77, "unused": 0, "start": 5,
               "realtime": 1, "boot": 1, "pid_space": b"boot:pid", "host": b"host", **dict(identity)}
        what = {"state": 2, "operation": 2, "root": 0, "dtype": 1, "bytes": 64, "call_update": 3, "collectives": 9, "update": 3,
                "entered_realtime": 1, "entered_boot": 1, "progress_realtime": 1, "progress_boot": 1, "phase": b"exchange",
                "name": b"gradient", **dict(moment)}
        moment_bytes = struct.pack("<IIiIQqqqqqqq24s48s", *what.values())
        return struct.pack("<QIIiiiiQqq40s64s", *who.values()) + struct.pack("<Q", current) + 2 * moment_bytes

    seeds = {
        "good": record(), "odd": record(current=2**64 - 1), "cut": record()[:471], "long": record() + b"\0", "zeros": bytes(472), "ones": b"\xff" * 472,
        "version": record({"version": 2}), "size": record({"bytes": 2**32 - 1}), "rank": record({"rank": -1}), "world": record({"world": 2**31 - 1}),
        "pid": record({"pid": -1}), "no-nul": record({"host": b"h" * 64}), "escape": record({"host": b"\x1b[2J"}), "behind-nul": record({"host": b"a\0b"}),
        "state": record(moment={"state": 2**32 - 1}), "operation": record(moment={"operation": 99}), "dtype": record(moment={"dtype": 99}),
        "root": record(moment={"root": -(2**31)}), "count": record(moment={"collectives": -1}), "time": record(moment={"progress_boot": -(2**63)}),
        "name": record(moment={"name": b"n" * 48}), "phase": record(moment={"phase": b"\n"}),
    }
    for name, data in seeds.items():
        seed("status_record", name, data)


for make in (safetensors, manifest, json_files, checkpoint, config, samples, index, data_lock, metrics, report, failure_report, names, environment,
             status_record):
    make()
