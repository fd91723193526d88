"""plan.balance lpt: the windows are what a few lines of Python make of the unbalanced ones, id by id."""

import random

import pytest

from probe import ask

DECODER = {"kind": "decoder", "layers": 2, "width": 128, "feed_forward": 512, "vocabulary": 256, "classes": 4}
ENCODER = {**DECODER, "kind": "encoder", "feed_forward": 256, "vocabulary": 6}


def ask_plan(**request):
    return ask(plans=[request])["plans"][0]


def longest_first(window, lengths, per_token, per_pair):
    """window[virtual rank][microbatch] -> ids, spread anew."""
    accumulation = len(window[0])
    ids = [id for rank in window for atom in rank for id in atom]
    atoms = [[0.0, []] for _ in range(len(window) * accumulation)]
    cost = [per_token * float(lengths[id]) + per_pair * float(lengths[id]) * float(lengths[id]) for id in ids]
    for place in sorted(range(len(ids)), key=lambda i: (-cost[i], i)):
        least = min(range(len(atoms)), key=lambda i: (atoms[i][0], i))
        atoms[least][0] += cost[place]
        atoms[least][1].append(place)
    spread = [[ids[place] for place in sorted(places)] for _, places in atoms]
    return [spread[i : i + accumulation] for i in range(0, len(spread), accumulation)]


def text(samples, updates, ranks, accumulation, batch, lengths, **more):
    return dict(task="text", seed=5, updates=updates, epochs=0, virtual_ranks=ranks, accumulation=accumulation,
                batch_size_per_rank=batch, lengths=lengths, **more)


def lengths_of(samples, most, seed=1):
    """Many short ones, some long, with equal ones and empty ones."""
    generator = random.Random(seed)
    return [generator.choice([generator.randrange(0, 12), generator.randrange(1, most)]) for _ in range(samples)]


# A partial window at the end of each epoch; fewer samples than atoms; one atom; costs that a double rounds.
@pytest.mark.parametrize("samples, updates, ranks, accumulation, batch",
                         [(100, 12, 2, 2, 4), (33, 9, 3, 2, 5), (3, 4, 2, 2, 1), (5, 6, 2, 4, 8), (40, 3, 1, 1, 8),
                          (500, 20, 4, 3, 7)])
@pytest.mark.parametrize("per_token, per_pair", [(1.0, 0.0), (0.0, 1.0), (0.1, 0.0007), (3.0, 1e-9)])
def test_balanced_windows_equal_pythons(samples, updates, ranks, accumulation, batch, per_token, per_pair):
    lengths = lengths_of(samples, 300)
    request = text(samples, updates, ranks, accumulation, batch, lengths)
    drawn = ask_plan(**request)
    balanced = ask_plan(**request, balance="lpt", cost_per_token=per_token, cost_per_token_pair=per_pair)
    assert balanced["rule"] == "shuffled-epochs-1+lpt-1"
    assert balanced["plan"] == [longest_first(window, lengths, per_token, per_pair) for window in drawn["plan"]]


def test_a_balanced_lesson_equals_pythons():
    lengths = [random.Random(i).randrange(16, 129) for i in range(200)]
    request = dict(task="lesson", seed=42, split=64, updates=30, epochs=0, virtual_ranks=2, accumulation=2,
                   batch_size_per_rank=8, lengths=lengths)
    drawn = ask_plan(**request)
    balanced = ask_plan(**request, balance="lpt", cost_per_token=2.0, cost_per_token_pair=0.25)
    assert balanced["rule"] == "lesson-two-pools-1+lpt-1"
    assert balanced["plan"] == [longest_first(window, lengths, 2.0, 0.25) for window in drawn["plan"]]


def product(rows, inner, columns):
    """Multiplications and additions of a matrix product."""
    return 2 * rows * inner * columns


def flops(model, tokens):
    """Of forward and backward of one sample, product by product. Causal attention computes half of its square."""
    w, f = model["width"], model["feed_forward"]
    layer = product(tokens, w, 3 * w) + product(tokens, w, w) + product(tokens, w, f) + product(tokens, f, w)
    attention = 2 * product(tokens, w, tokens) // (2 if model["kind"] == "decoder" else 1)
    head = product(tokens, w, model["vocabulary"] if model["kind"] == "decoder" else model["classes"])
    return 3 * (model["layers"] * (layer + attention) + head)


@pytest.mark.parametrize("model", [DECODER, ENCODER, {**DECODER, "layers": 7, "width": 48, "vocabulary": 1000}])
def test_without_costs_the_models_arithmetic_decides(model):
    lengths = lengths_of(120, 900)
    one, two = flops(model, 1), flops(model, 2)
    pair = (two - 2 * one) // 2
    token = one - pair
    assert flops(model, 317) == token * 317 + pair * 317**2
    request = text(120, 10, 2, 3, 5, lengths, model=model)
    drawn, balanced = ask_plan(**request), ask_plan(**request, balance="lpt")
    assert balanced["plan"] == [longest_first(window, lengths, token, pair) for window in drawn["plan"]]
    given = ask_plan(**request, balance="lpt", cost_per_token=token, cost_per_token_pair=pair)
    assert given["digest"] == balanced["digest"]
    other = ask_plan(**request, balance="lpt", cost_per_token=token, cost_per_token_pair=0)
    assert other["digest"] != balanced["digest"] and other["plan"] != balanced["plan"]
    assert drawn["plan"] != balanced["plan"]
