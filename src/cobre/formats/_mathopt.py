"""Subproblems in MathOptFormat: linear ones, and products with random variables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, Field

from cobre.formats._files import Findings


class _Variable(BaseModel):
    name: str


class _Objective(BaseModel):
    sense: Literal["min", "max", "feasibility"]
    function: dict[str, Any] | None = None


class _Constraint(BaseModel):
    name: str | None = None
    function: dict[str, Any]
    set: dict[str, Any]


class Subproblem(BaseModel):
    """A MathOptFormat object, as far as it matters here."""

    variables: list[_Variable]
    objective: _Objective
    constraints: list[_Constraint]


class _Affine(BaseModel):
    variable: str
    coefficient: float


class _Product(BaseModel):
    coefficient: float
    variable_1: str
    variable_2: str


class Function(BaseModel):
    """A function of variables: a constant, linear terms, and products of two variables.

    The coefficient of a product of a variable with itself is that of its half square, as in MathOptFormat.
    """

    terms: list[_Affine] = Field(default_factory=list)
    products: list[_Product] = Field(default_factory=list)
    constant: float = 0.0

    @classmethod
    def of(cls, written: Mapping[str, Any]) -> Function:
        """Take a function as it is written.

        Raises:
            ValueError: it is of another kind; a missing or malformed part is a ``ValidationError``.
        """
        kind = written.get("type")
        if kind in ("Variable", "SingleVariable"):
            name = written.get("name", written.get("variable"))
            return cls.model_validate({"terms": [{"variable": name, "coefficient": 1.0}]})
        if kind == "ScalarAffineFunction":
            return cls.model_validate({"terms": written.get("terms"), "constant": written.get("constant")})
        if kind == "ScalarQuadraticFunction":
            parts = {"terms": "affine_terms", "products": "quadratic_terms", "constant": "constant"}
            return cls.model_validate({name: written.get(part) for name, part in parts.items()})
        raise ValueError(f"a function of type {kind!r} is not supported; it has to be linear")

    def linear(self, random: set[str]) -> tuple[dict[str, float], dict[str, dict[str, float]]]:
        """Return coefficients by variable, and for random ones the coefficient of each random variable.

        Raises:
            ValueError: two decisions, or two random variables, are multiplied.
        """
        fixed: dict[str, float] = {}
        varying: dict[str, dict[str, float]] = {}
        for term in self.terms:
            fixed[term.variable] = fixed.get(term.variable, 0.0) + term.coefficient
        for product in self.products:
            pair = [product.variable_1, product.variable_2]
            if len([name for name in pair if name in random]) != 1:
                what = "random variables" if pair[0] in random else "decisions"
                raise ValueError(
                    f"the {what} {pair[0]!r} and {pair[1]!r} are multiplied; only one may be random"
                )
            by, of = sorted(pair, key=lambda name: name not in random)
            factors = varying.setdefault(of, {})
            factors[by] = factors.get(by, 0.0) + product.coefficient
        return fixed, varying


def limits(of: Mapping[str, Any]) -> tuple[float, float]:
    """Return the bounds that a set means.

    Raises:
        ValueError: it is of another kind, or a bound is missing.
    """
    sides = {
        "LessThan": (None, "upper"),
        "GreaterThan": ("lower", None),
        "EqualTo": ("value", "value"),
        "Interval": ("lower", "upper"),
    }
    kind = of.get("type")
    if kind not in sides:
        raise ValueError(f"a set of type {kind!r} is not supported; it has to be one of {', '.join(sides)}")
    low, high = sides[kind]
    return (
        -np.inf if low is None else _bound(of, low),
        np.inf if high is None else _bound(of, high),
    )


def _bound(of: Mapping[str, Any], name: str) -> float:
    value = of.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"a {of['type']} set takes {name!r}, a number")
    return float(value)


def parts(function: Mapping[str, Any], place: str, random: set[str], found: Findings, known: set[str]) -> Any:
    """Return the constant, and what `Function.linear` does, or tell why not."""
    try:
        whole = Function.of(function)
        fixed, varying = whole.linear(random)
    except ValueError as exc:
        errors = getattr(exc, "errors", None)
        words = "; ".join(f"{error['loc'][0]}: {error['msg']}" for error in errors()) if errors else str(exc)
        found.add(place, words)
        return 0.0, {}, {}
    names = {*fixed, *varying, *(name for factors in varying.values() for name in factors)}
    for name in sorted(names - known):
        found.add(place, f"there is no variable {name!r}")
    return (
        whole.constant,
        {n: v for n, v in fixed.items() if n in known},
        {n: v for n, v in varying.items() if n in known},
    )
