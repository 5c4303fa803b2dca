"""Bounds of lags against all that can happen, one path after the other."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cobre.elements.hydro.data import Inflow, Transition
from cobre.elements.hydro.inflow_bounds import lag_bounds

NUMBER = st.integers(-20, 20)


@st.composite
def models(draw):
    """A model of up to three lags, and the noise of up to three openings of each of up to four stages."""
    stages, order = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    coefficients = st.lists(st.integers(-10, 10).map(lambda i: i / 8), max_size=order)
    inflow = Inflow(
        np.array([float(draw(NUMBER)) for _ in range(stages)]),
        tuple(np.array(draw(coefficients), float) for _ in range(stages)),
        np.array([float(abs(draw(NUMBER))) for _ in range(stages)]),
        tuple(float(draw(NUMBER)) for _ in range(order)),
    )
    eta = st.lists(st.integers(-8, 8).map(lambda i: i / 4), min_size=1, max_size=3)
    if draw(st.booleans()):
        inflow = replace(inflow, **draw(seasons(inflow, stages)))
    return inflow, [np.array(draw(eta)) for _ in range(stages)]


@st.composite
def seasons(draw, inflow, stages):
    """States that stay, or are means of several stages and of what was before the study."""
    count = inflow.order + draw(st.integers(0, 2))
    part = st.integers(0, 4).map(lambda i: i / 4)
    numbers = st.lists(part, min_size=count, max_size=count)
    transitions = [
        Transition(
            np.array([draw(numbers) for _ in range(count)]).reshape(count, count), np.array(draw(numbers))
        )
        for _ in range(stages)
    ]
    past = tuple(float(draw(NUMBER)) for _ in range(count))
    return {"given_transitions": tuple(transitions), "past_m3s": past}


def paths(inflow, inflows_of, *, truncates):
    """Yield stage, what lags add, and the inflow before truncation, on each path of the given openings."""
    for path in product(*inflows_of):
        past = list(inflow.past_m3s)
        for stage, value in enumerate(path):
            lagged = sum(psi * lag for psi, lag in zip(inflow.coefficients[stage], past, strict=False))
            raw = value(lagged)
            yield stage, lagged, raw
            known = max(raw, 0.0) if truncates else raw
            if inflow.given_transitions:
                step = inflow.given_transitions[stage]
                past = (step.carried @ past + step.share * known).tolist()
            else:
                past.insert(0, known)


def of_noise(inflow, noise):
    return [
        [lambda lagged, own=base + scale * e: own + lagged for e in eta]
        for base, scale, eta in zip(inflow.base_m3s, inflow.scale_m3s, noise, strict=True)
    ]


def extremes(inflow, inflows_of, stages, *, truncates=False):
    found = list(paths(inflow, inflows_of, truncates=truncates))
    for stage in range(stages):
        lagged = [one for at, one, _ in found if at == stage]
        yield stage, min(lagged), max(lagged), min(raw for at, _, raw in found if at == stage)


@given(models())
def test_bounds_without_truncation_are_those_of_all_paths(model):
    inflow, noise = model
    bounds = lag_bounds(inflow, noise)
    for stage, low, high, least in extremes(inflow, of_noise(inflow, noise), len(noise)):
        assert bounds.low_m3s[stage] == pytest.approx(low, abs=1e-9)
        assert bounds.high_m3s[stage] == pytest.approx(high, abs=1e-9)
        assert bounds.shortfall_m3s[stage] == pytest.approx(max(0.0, -least), abs=1e-9)


@given(models())
def test_truncated_inflows_are_between_the_bounds(model):
    inflow, noise = model
    bounds = lag_bounds(inflow, noise, truncates=True)
    acts = False
    for stage, low, high, least in extremes(inflow, of_noise(inflow, noise), len(noise), truncates=True):
        assert bounds.low_m3s[stage] <= low + 1e-9
        assert bounds.high_m3s[stage] >= high - 1e-9
        assert bounds.shortfall_m3s[stage] >= -least - 1e-9
        if not acts:
            assert bounds.low_m3s[stage] == pytest.approx(low, abs=1e-9)
        acts = acts or bounds.shortfall_m3s[stage] > 0


@given(models())
def test_inflows_lifted_by_the_whole_limit_are_between_the_bounds(model):
    """As programmes of training may lift them, by what the least inflow of the opening lacks."""
    inflow, noise = model
    bounds = lag_bounds(inflow, noise, truncates=True)
    own = [
        base + scale * eta for base, scale, eta in zip(inflow.base_m3s, inflow.scale_m3s, noise, strict=True)
    ]
    possible = [
        [lambda lagged, one=one, least=low + one: one + lagged + max(0.0, -least) for one in values]
        for values, low in zip(own, bounds.low_m3s, strict=True)
    ]
    for stage, low, high, _ in extremes(inflow, possible, len(noise)):
        assert bounds.low_m3s[stage] <= low + 1e-9
        assert bounds.high_m3s[stage] >= high - 1e-9


@given(models(), st.integers(0, 12))
def test_fresh_noise_is_between_the_bounds(model, quarters):
    """But openings have the noise that they have."""
    inflow, noise = model
    fresh = quarters / 4
    bounds = lag_bounds(inflow, noise, fresh=fresh)
    wider = [np.append(eta, [-fresh, fresh] if fresh else []) for eta in noise]
    for stage, low, high, _ in extremes(inflow, of_noise(inflow, wider), len(noise)):
        assert bounds.low_m3s[stage] == pytest.approx(low, abs=1e-9)
        assert bounds.high_m3s[stage] == pytest.approx(high, abs=1e-9)
        own = inflow.base_m3s[stage] + inflow.scale_m3s[stage] * noise[stage].min()
        assert bounds.shortfall_m3s[stage] == pytest.approx(max(0.0, -(low + own)), abs=1e-9)


@given(models(), st.data(), st.booleans())
def test_given_inflows_are_between_the_bounds(model, data, truncates):
    inflow, noise = model
    scenarios = data.draw(st.lists(st.lists(NUMBER, min_size=4, max_size=4), min_size=1, max_size=2))
    given_m3s = np.array(scenarios, float)[:, : len(noise)]
    bounds = lag_bounds(inflow, noise, truncates=truncates, given_m3s=given_m3s)
    possible = [
        [*own, *(lambda _lagged, value=value: value for value in values)]
        for own, values in zip(of_noise(inflow, noise), given_m3s.T.tolist(), strict=True)
    ]
    for stage, low, high, _ in extremes(inflow, possible, len(noise), truncates=truncates):
        assert bounds.low_m3s[stage] <= low + 1e-9
        assert bounds.high_m3s[stage] >= high - 1e-9


def test_bounds_do_not_grow_with_coefficients_that_only_seem_to():
    """1.2 and -0.4 sum to 1.6 in absolute value; the model forgets all the same."""
    series, stages = np.ones(120), 120
    model = Inflow(series, (np.array([1.2, -0.4]),) * stages, series, (5.0, 5.0))
    bounds = lag_bounds(model, [np.array([-1.0, 1.0])] * stages)
    assert np.abs([bounds.low_m3s, bounds.high_m3s]).max() < 20
