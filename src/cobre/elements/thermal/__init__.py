"""Thermal plants; `cobre.elements` says what each module holds."""
