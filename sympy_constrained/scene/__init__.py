"""What pictures and pages show: positions, bodies as drawn, names, units."""
