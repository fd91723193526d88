"""samegrad's DistributedDataParallel against PyTorch's over Gloo, and against c10d::Reducer used from C++: the same
models, weights and data; every gradient and buffer after each of five steps of SGD."""

import json
import os
import subprocess

import pytest
import torch
from safetensors import safe_open

import torch_ddp

DDP_PARITY = os.path.join(os.environ["SAMEGRAD_BIN"], "ddp-parity")
TINY = 0.0001  # MiB: a bucket for nearly every parameter
PLAIN = ["Mlp", "Frozen", "Float64", "Cnn", "ChannelsLast", "Transformer", "Tied", "TwoOutputs", "MixedDtypes",
         "MixedBfloat16", "Reused", "SparseEmbedding"]


def case(model, accumulation=1, zeroing="none", views=True, cap_mb=TINY, name=None, **more):
    form = f"{model}, {accumulation} microbatches, zeroing {zeroing}, views {views}, cap {cap_mb}"
    return dict(name=name or form, model=model, accumulation=accumulation, zeroing=zeroing, views=views, cap_mb=cap_mb,
                find_unused=False, static_graph=False, loss_outputs=1) | more


def forms(model, ranks, **more):
    """The ways in which a model is trained."""
    if ranks > 2:
        return [case(model, 2, "none", True, cap_mb=None, **more), case(model, 1, "zero", False, **more)]
    if model in ("Mlp", "Cnn"):
        return [case(model, accumulation, zeroing, views, **more)
                for accumulation in (1, 2) for zeroing in ("none", "zero") for views in (True, False)]
    return [case(model, 1, "none", True, **more), case(model, 1, "zero", False, **more),
            case(model, 2, "none", False, cap_mb=None, **more), case(model, 2, "zero", True, **more)]


def cases(ranks):
    result = [one for model in PLAIN for one in forms(model, ranks, loss_outputs=2 if model == "TwoOutputs" else 1)]
    result += forms("Branches", ranks, find_unused=True)
    result += forms("OneBranch", ranks, find_unused=True)
    result += [case("OneBranch", static_graph=True, name="OneBranch, static graph"),
               case("Reused", static_graph=True, name="Reused, static graph"),
               case("TwoOutputs", find_unused=True, name="one of two outputs in the loss"),
               case("Mlp", 1, "keep", name="gradients kept"),
               case("Mlp", 2, "keep", False, name="gradients kept, accumulation, no views")]
    return result


UNUSED = [case("OneBranch", cap_mb=None, name="a parameter that is not used"),
          case("TwoOutputs", cap_mb=None, name="an output that is not in the loss")]
C10D = {ranks: forms("Mlp", ranks) + forms("Transformer", ranks) + forms("Branches", ranks, find_unused=True)
        for ranks in (2, 3)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Holds the results of both sides."""
    place = tmp_path_factory.mktemp("parity")
    request = [dict(engine="samegrad", ranks=ranks, cases=cases(ranks) + UNUSED) for ranks in (2, 3, 4)]
    request += [dict(engine="c10d", ranks=ranks, cases=C10D[ranks]) for ranks in (2, 3)]
    request += [dict(engine=engine, ranks=2, cases=[case("Mlp")]) for engine in ("local", "sum")]
    (place / "request.json").write_text(json.dumps(request))
    for ranks in (2, 3, 4):  # before anything uses autograd in this process
        torch_ddp.run(cases(ranks) + UNUSED, ranks, place)
    subprocess.run([DDP_PARITY, place / "request.json", place], check=True)
    return place


def results(folder, engine, ranks, rank):
    """-> {case: {tensor's name: tensor}}, {case: message}"""
    by_case = {}
    with safe_open(folder / f"{engine}-{ranks}-{rank}.safetensors", framework="pt") as file:
        for key in file.keys():
            name, rest = key.split("/", 1)
            by_case.setdefault(name, {})[rest] = file.get_tensor(key)
        return by_case, file.metadata() or {}


def tolerance(case_name, tensor):
    if case_name.startswith("MixedBfloat16"):
        return 2e-3, 2e-2
    return (1e-12, 1e-12) if tensor.dtype == torch.float64 and case_name.startswith("Float64") else (1e-6, 1e-4)


def differences(case_name, ours, theirs):
    """Lines that say where two results of a case differ; gradients that only one of them has count."""
    found = [f"only one has {name}" for name in sorted(set(ours) ^ set(theirs))]
    for name in sorted(set(ours) & set(theirs)):
        absolute, relative = tolerance(case_name, theirs[name])
        difference = (ours[name].double() - theirs[name].double()).abs()
        if ours[name].dtype != theirs[name].dtype or not bool((difference <= absolute + relative * theirs[name].abs()).all()):
            found.append(f"{name}: {difference.max().item()}")
    return found


def all_differences(names, ours, theirs):
    found = {name: differences(name, ours[name], theirs[name]) for name in names}
    return {name: lines for name, lines in found.items() if lines}


@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_gradients_and_buffers_are_pytorchs_at_every_step(folder, ranks):
    names = {one["name"] for one in cases(ranks)}
    for rank in (0, ranks - 1):
        ours, our_errors = results(folder, "samegrad", ranks, rank)
        theirs, their_errors = results(folder, "torch", ranks, rank)
        assert names.isdisjoint(our_errors) and names.isdisjoint(their_errors)
        assert names <= set(ours) and names <= set(theirs)
        assert all_differences(names, ours, theirs) == {}


@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_what_is_unused_with_detection_off_is_an_error_on_both_sides_and_on_every_rank(folder, ranks):
    for rank in range(ranks):
        ours, our_errors = results(folder, "samegrad", ranks, rank)
        theirs, their_errors = results(folder, "torch", ranks, rank)
        assert set(our_errors) == set(their_errors) == {one["name"] for one in UNUSED}
        assert all("right.weight, right.bias" in message for message in our_errors.values())
        # PyTorch finds out at the next forward, samegrad before a step was made with diverged gradients.
        assert not set(our_errors) & set(ours)
        assert set(their_errors) <= set(theirs)


@pytest.mark.parametrize("ranks", [2, 3])
def test_c10d_reducer_in_cpp_gives_the_same_gradients(folder, ranks):
    names = {one["name"] for one in C10D[ranks]}
    ours, _ = results(folder, "samegrad", ranks, ranks - 1)
    theirs, _ = results(folder, "torch", ranks, ranks - 1)
    peers, errors = results(folder, "c10d", ranks, ranks - 1)
    assert errors == {} and set(peers) == names
    assert all_differences(names, ours, peers) == {}
    assert all_differences(names, theirs, peers) == {}


@pytest.mark.parametrize("control", ["local", "sum"])
def test_the_comparison_rejects_a_ranks_own_gradient_and_a_sum(folder, control):
    name = case("Mlp")["name"]
    wrong, _ = results(folder, control, 2, 0)
    theirs, _ = results(folder, "torch", 2, 0)
    assert len(differences(name, wrong[name], theirs[name])) == 5 * 4  # every parameter in every step


def test_the_comparison_rejects_a_gradient_that_only_one_side_has(folder):
    name = case("Branches", find_unused=True)["name"]
    ours, _ = results(folder, "samegrad", 2, 0)
    one_less = {key: value for key, value in ours[name].items() if key != "3/left.bias"}
    assert differences(name, one_less, ours[name]) == ["only one has 3/left.bias"]
    assert not any("unused" in key for key in ours[name])
