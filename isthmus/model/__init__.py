"""A description -> `Model` and `State`: pytrees whose leaves are physical numbers.

`model.py` is the place to start: every leaf with its unit. `compile.py` makes a model from a description,
`builder.py` from Python; `joints.py` has the kinds of joints, `address.py` names such as `link/*/mass`.
"""
