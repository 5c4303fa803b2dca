"""Batteries; `cobre.elements` says what each module holds."""
