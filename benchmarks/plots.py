"""The pictures of a run."""
from matplotlib import pyplot as plt
from report import FAMILIES, INTEGRATORS, curve, points
from results import NAMES, PEERS, Results, named

COLOURS = {'graph': 'C0', 'kane': 'C1', 'lagrange': 'C2'}
LABELS = {'graph': 'on the graph', **{
    key: PEERS[key] for key in ('kane', 'lagrange')}}


def plot(record, file):
    """Time of a derivation over the number of bodies."""
    found = Results(record)
    figure, axes = plt.subplots(1, len(FAMILIES), figsize=(9, 3.2),
                                sharey=True, layout='constrained')
    for ax, name in zip(axes, FAMILIES):
        for who, found_points in (
                ('graph', curve(found, 'grow', name, key='graph')),
                ('kane', curve(found, 'upstream_derive', name, 'kane')),
                ('lagrange', curve(found, 'upstream_derive', name,
                                   'lagrange'))):
            if found_points:
                ax.loglog(*zip(*found_points), 'o-', color=COLOURS[who],
                          label=LABELS[who])
        ax.set_title(NAMES[name])
        ax.set_xlabel('bodies')
        ax.set_xticks([4, 8, 16, 32, 64], ['4', '8', '16', '32', '64'])
        ax.minorticks_off()
        ax.grid(alpha=0.3)
    axes[0].set_ylabel('time of a derivation [s]')
    axes[0].legend(frameon=False, fontsize='small')
    figure.savefig(file, dpi=80)
    plt.close(figure)


def plot_precision(record, file):
    """Time of a motion over its error."""
    found = Results(record)
    specs = found.specs('precision')
    if not specs:
        return
    figure, axes = plt.subplots(
        1, len(specs), figsize=(2.6*len(specs) + 1, 3.6), sharey=True,
        layout='constrained')
    for ax, spec in zip(axes, specs):
        for k, (by, label) in enumerate(INTEGRATORS.items()):
            errors, times = points(found, spec, by)
            ax.loglog(errors, times, 'o-', color=f'C{k}', label=label,
                      markersize=3)
        ax.set_title(named(spec))
        ax.set_xlabel('error')
        ax.set_xlim(1e-2, 1e-13)
        ax.grid(alpha=0.3)
    axes[0].set_ylabel('processor time [s]')
    figure.legend(*axes[0].get_legend_handles_labels(), frameon=False,
                  fontsize='small', loc='outside lower center', ncols=3)
    figure.savefig(file, dpi=80)
    plt.close(figure)
