# Each frontend's package has a module of this name; checkers of types know no more of it.
from typing import Any

def __getattr__(name: str) -> Any: ...
