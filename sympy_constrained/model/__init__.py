"""What the physics is: from bodies, loads and constraints to blocks.

The arguments of the two call shapes are bound by `call_signatures`; `build`
makes a :class:`.ConstrainedSystem` of them; a method makes
:class:`.EquationsOfMotion` of that.
"""
