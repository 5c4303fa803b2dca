"""Non-controllable sources; `cobre.elements` says what each module holds."""
