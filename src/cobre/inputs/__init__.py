"""Case inputs: what the files of all element kinds share.

``models.py``    base classes of the models of JSON files
``tables.py``    columns of Parquet files, and their contents
``config.py``    ``config.json``
``stages.py``    ``stages.json``
``timeline.py``  the stages in order, and numbers by stage and block
``findings.py``  the report that findings are added to
``files.py``     the files of a case as they were read
``bounds.py``    bounds by stage and block
``kind.py``      the inputs of an element kind: files, references, bounds, penalties, checks

A kind's own inputs are ``inputs.py`` and ``findings.py`` of its package in `cobre.elements`. `cobre.case`
reads a folder and resolves it.
"""
