"""The life of a package, as one machine. Its unit is the package object: kind and name in the cluster.

```
           install              not required any more         retire             retire --synced
  absent ──────────▶ ACTIVE ─────────────────────────▶ ORPHANED ───────▶ released ───────────────▶ gone
                     │ ▲ ▲ ▲───────── asked for again ────┘   │              ▲ │
    upgrade, alias,  │ │ │ └───────── asked for again ────────│──────────────│─┘
    repoint: the ────┘ │ └─────────── asked for again ── DEACTIVATED ─retire─┘
    same object        │                                      ▲
                       └───────────── replaced: deactivate ───┘

  provided by another folder from now on: ACTIVE or ORPHANED ──▶ gone here
```

Four steps make a lock, and `update.py` joins them:

1. `resolve_with_moves.py` searches versions until the answer agrees with the moves and orphans that follow from it.
2. `plan.py` makes a transition for every object: before, event, after.
3. `rules.py` has the table of rules; each one yields errors for a plan. They stand in the files of their subjects.
4. `write.py` turns the plan into the lock.

The subjects, in the order in which a user meets them: `states.py`, `names.py`, `claims.py`, `strategies.py` and
`conditions.py`, `ownership.py`, `carry_over.py` (pins and fields), `other_folders.py`, `preferences.py` (what the search
prefers). `retiring/` is the way out.
"""
