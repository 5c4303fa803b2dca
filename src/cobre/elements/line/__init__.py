"""Transmission lines; `cobre.elements` says what each module holds."""
