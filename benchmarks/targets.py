"""The rows of run_all.py's table: what is asked of a benchmark's figures, and what was measured."""

import statistics
from typing import Callable, NamedTuple

MIB = 2**20
LESSON_BYTES = 282_628 * 4
EXCHANGE_BYTES = sorted([*(4096 * 4**i for i in range(9)), LESSON_BYTES])


class Measured(NamedTuple):
    spread: dict  # median, min, max; or only median
    rounds: int
    peer: str = ""
    limit: str = ""


class Target(NamedTuple):
    what: str
    benchmarks: tuple
    measured: Callable  # of the benchmarks' figures; None: they have none of it, as in --quick; or why it was skipped
    unit: str
    at_least: float | None = None
    at_most: float | None = None

    def asked(self):
        if self.at_least is not None:
            return f"at least {number(self.at_least, self.unit)}"
        return "" if self.at_most is None else f"at most {number(self.at_most, self.unit)}"

    def is_missed(self, median):
        return (self.at_least is not None and median < self.at_least) or (self.at_most is not None and median > self.at_most)


def number(value, unit):
    digits = 0 if abs(value) >= 100 or (unit == "%" and abs(value) >= 10) else 1 if abs(value) >= 10 else 2
    return f"{value:,.{digits}f} {unit}".strip()


def shown(spread, unit):
    text = number(spread["median"], unit)
    if "min" not in spread or spread["min"] == spread["max"]:
        return text
    return f"{text} ({number(spread['min'], '')} to {number(spread['max'], '')})"


def spread_of(values):
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def scaled(spread, factor):
    return {key: factor * value for key, value in spread.items()}


def milliseconds(seconds):
    return f"{number(1000 * seconds, '')} ms"


def processes_of(count):
    return f"{count} process" if count == 1 else f"{count} processes"


def update_rows(case, title, usual=None, best=None, share=None):
    def against(side):
        def measured(results):
            one = results[0]
            peer = "usual" if side == "usual" else one["best"]
            return Measured(one[f"{side}_over_samegrad"], len(one["rounds"]),
                            f"PyTorch DDP, {peer}: {milliseconds(one['seconds'][peer]['median'])}; samegrad "
                            f"{milliseconds(one['seconds']['samegrad']['median'])}")
        return measured

    def of_limit(results):
        one = results[0]
        peak = one["fma_flops_per_second"]["median"]
        return Measured(scaled(one["share_of_limit"], 100), len(one["rounds"]), "",
                        f"{milliseconds(one['flops_of_slower_rank'] / peak)} at {peak / 1e9:.0f} GFLOP/s a core")

    def memory(results):
        one = results[0]
        peaks = one["peak_bytes"]
        loaded = f", torch imported {one['peer_loading_bytes'] / MIB:.0f}" if "peer_loading_bytes" in one else ""
        return Measured({"median": peaks["samegrad"] / MIB}, 1, f"PyTorch DDP, usual: {peaks['usual'] / MIB:.0f} MiB{loaded}",
                        f"{one['loading_bytes'] / MIB:.0f} MiB: libtorch loaded" if "loading_bytes" in one else "")

    of = (f"update-{case}",)
    return [Target(f"{title}, against PyTorch DDP as most write it", of, against("usual"), "x", at_least=usual),
            Target(f"{title}, against PyTorch DDP at its best", of, against("best"), "x", at_least=best),
            Target(f"{title}, share of the arithmetic limit", of, of_limit, "%", at_least=share),
            Target(f"{title}, memory a process at most", of, memory, "MiB")]


def exchange_row(size, side, peer, times):
    def measured(results):
        found = [one for one in results["2"] if one["bytes"] == size]
        if not found:
            return None
        if side not in found[0]["times_shm"]:
            return f"skipped: {peer} is missing"
        seconds = found[0]["seconds"]
        micro = {name: number(1e6 * seconds[name]["median"], "us") for name in ("shm", side, "copy") if name in seconds}
        return Measured(found[0]["times_shm"][side], found[0].get("rounds", 0), f"{peer}: {micro[side]}; samegrad {micro['shm']}",
                        f"a copy: {micro['copy']}" if "copy" in micro else "")

    return Target(f"exchange of {size:,} bytes, 2 processes, against {peer}", ("exchange",), measured, "x", at_least=times)


def optimizer_row(elements, kind, peer, title, times=None):
    def measured(results):
        found = [one for one in results if one["elements"] == elements]
        if not found:
            return None
        one = found[0]
        share = one["share_of_limit"]["median"]
        return Measured(one["times_as_fast"][f"torch, {peer} {kind} / {kind}"], len(one["seconds"][kind]), f"torch, {peer}",
                        f"{100 * share:.0f} % of the arrays' traffic" if kind == "adamw" else "")

    return Target(f"{title}, {elements:,} parameters", ("optimizer",), measured, "x", at_least=times)


def beside_computing(exactness, supervision):
    setting = exactness["shm, 2 processes"]
    status = supervision["cost"]["percent"]
    parts = setting["percent_of_an_update"]
    spread = {key: value + status for key, value in parts["hashes_agreements_metrics"].items()}
    return Measured(spread, len(setting["rounds"]), "of these: " + ", ".join(
        f"{name} {median:.2f} %" for name, median in
        [(one, parts[one]["median"]) for one in ("hashes", "agreements", "metrics")] + [("status", status)]))


def case_row(benchmark, case, title, measured, unit="x"):
    def of_case(results):
        found = [one for one in results["cases"] if one["case"] == case]
        return measured(results, found[0]) if found else None

    return Target(title, (benchmark,), of_case, unit)


def attention(results, one):
    packed, loop = one["sides"]["packed"], one["sides"]["loop"]
    return Measured(loop["times_packed"], results["rounds"],
                    f"torch, sample by sample: {milliseconds(loop['median_s'])}; samegrad {milliseconds(packed['median_s'])}",
                    f"{100 * packed['share_of_limit']:.0f} % of the arithmetic limit")


def loss(results, one):
    seconds = {side: milliseconds(spread["median"]) for side, spread in one["seconds"].items()}
    return Measured(one["torch_over_fused"], results["rounds"], f"torch: {seconds['torch']}; samegrad {seconds['fused']}",
                    f"{100 * one['share_of_limit']['median']:.0f} % of the limit")


def loss_memory(_results, one):
    return Measured({"median": one["peak_bytes"]["fused"] / MIB}, 1, f"torch: {one['peak_bytes']['torch'] / MIB:.1f} MiB",
                    f"{one['gradient_bytes'] / MIB:.1f} MiB: the gradients")


def operation_row(name):
    def measured(results):
        one = next(one for one in results["operations"] if one["operation"] == name)
        return Measured(one["times_fused"], results["rounds"],
                        f"torch: {one['plain_ms']:.3f} ms; samegrad {one['fused_ms']:.3f} ms")

    return Target(f"an atom's {name}", ("operations",), measured, "x")


def ddp_row(model, ranks, of, peer):
    def measured(results):
        found = [one for one in results if (one["model"], one["ranks"]) == (model, ranks)]
        if not found:
            return None
        one = found[0]
        share = one["summary"]["seconds"][of]["window"]
        times = {"median": 1 / share["median"], "min": 1 / share["max"], "max": 1 / share["min"]}
        return Measured(times, len(one["seconds"]["window"]), "", "1 x" if of == "of_bare" else "")

    return Target(f"DistributedDataParallel's step, {model}, {processes_of(ranks)}, against {peer}", ("ddp",), measured, "x")


def checkpoint(key, factor):
    def measured(results):
        seconds = {name: spread["median"] for name, spread in results["seconds"].items()}
        peer = f"write and fsync: {seconds['plain']:.2f} s" if factor == 100 else f"a copy: {milliseconds(seconds['copy'])}"
        return Measured(scaled(results[key], factor), results["rounds"], peer, "the peer is the limit")
    return measured


def data_row(kind):
    def measured(results):
        rates = {side: [elapsed for elapsed, _ in pairs] for side, pairs in results["rates"][kind].items()}
        return Measured(spread_of(rates["first start"]), len(rates["first start"]),
                        f"json.loads: {statistics.median(rates['json.loads']):.0f} MB/s",
                        f"read and SHA-256: {statistics.median(rates['read + SHA-256']):.0f} MB/s")

    return Target(f".jsonl file, lines of kind {kind}, first start", ("data",), measured, "MB/s", at_least=150)


def start_row(processes, seconds=None):
    def measured(results):
        times = {side: [elapsed for elapsed, _ in pairs] for side, pairs in results[str(processes)].items()}
        return Measured(spread_of(times["samegrad"]), len(times["samegrad"]),
                        f"a DDP script: {statistics.median(times['DDP']):.2f} s",
                        f"libtorch loaded: {statistics.median(results['loading']):.2f} s")

    return Target(f"start to the first update, {processes_of(processes)}", ("start",), measured, "s", at_most=seconds)


def growth_row(quantity, key, title):
    def measured(results):
        one = next(one for one in results if one["quantity"] == quantity)
        first, last = one["points"][0]["value"], one["points"][-1]["value"]
        return Measured({"median": one[key]}, one.get("rounds", 0), "", f"{one['axis']}: {first:,.0f} to {last:,.0f}")

    return Target(f"growth with {quantity}: slope of {title}", ("growth",), measured, "")


def simulated(results):
    one = results["world_sizes"][-1]
    took = milliseconds(statistics.median(one["measured"]))
    return Measured(spread_of(one["ratio"]), len(one["ratio"]), f"a run of {processes_of(one['processes'])}: {took}")


TARGETS = [
    *update_rows("lesson", "lesson's own split", usual=2.0),
    *update_rows("lesson-balanced", "lesson, balanced", usual=3.0, best=2.2, share=60),
    *update_rows("text-3m", "dpkg text, 3 M parameters", best=1.8),
    *update_rows("text-25m", "dpkg text, 25 M parameters"),
    *(exchange_row(size, "gloo", "Gloo", 10 if size == LESSON_BYTES else 5) for size in EXCHANGE_BYTES),
    *(exchange_row(size, "openmpi", "Open MPI", 2) for size in EXCHANGE_BYTES),
    *(optimizer_row(n, "adamw", "fused", "AdamW step") for n in (282_628, 3_194_372)),
    optimizer_row(25_289_732, "adamw", "fused", "AdamW step", 1.0),
    optimizer_row(25_289_732, "whole", "clip and fused", "all that a training does with a gradient"),
    Target("hashes, agreement, status, metrics together, of an update", ("exactness", "supervision"), beside_computing, "%",
           at_most=3),
    Target("watching a run, of an update", ("supervision",), lambda r: Measured({"median": r["cost"]["percent"]}, 1), "%",
           at_most=1),
    Target("a death named, at the latest after", ("supervision",),
           lambda r: Measured({"median": r["report"]["most_s"]}, r["report"]["kills"]), "s", at_most=1),
    *(case_row("attention", case, f"attention, {case}", attention) for case in
      ("lesson, short", "lesson, long", "text", "text, heads of 32", "one of 2048")),
    *(case_row("loss", case, f"output layer and loss, {case}", loss) for case in ("lesson", "text", "vocabulary of 32,000")),
    case_row("loss", "vocabulary of 32,000", "output layer and loss, vocabulary of 32,000, memory at most", loss_memory, "MiB"),
    *(operation_row(name) for name in
      ("projection in", "projection out", "feed-forward", "residual and norm", "head and loss", "embedding")),
    *(ddp_row(model, 1, "of_bare", "a loop without the library") for model in ("lesson", "25m")),
    *(ddp_row(model, 2, of, peer) for model in ("lesson", "3m", "25m") for of, peer in
      (("of_c10d_views", "PyTorch's reducer at its best"), ("of_bare", "steps without an exchange"))),
    Target("checkpoint, share of a plain write's speed", ("checkpoint",), checkpoint("share_of_plain_speed", 100), "%",
           at_least=70),
    Target("pause of an asynchronous save, in copies", ("checkpoint",), checkpoint("copies_of_a_pause", 1), "", at_most=1.5),
    *(data_row(kind) for kind in ("long", "short", "chat", "ids")),
    start_row(1), start_row(2, 0.5),
    *(growth_row(quantity, key, title) for quantity in ("tokens", "length", "parameters", "processes", "atoms")
      for key, title in (("time_slope", "time"), ("memory_slope", "memory"))),
    Target("predicted time of an update, of the measured one", ("simulated",), simulated, ""),
]
