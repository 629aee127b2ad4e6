"""The navigation of a page opens the sections that lead to it, no others."""


def close_others(app, page, template, context, doctree):
    if 'toctree' in context:
        whole = context['toctree']
        context['toctree'] = lambda **options: whole(
            **{**options, 'collapse': True})


def setup(app):
    # Before the theme, which writes the tree of all pages on every page.
    app.connect('html-page-context', close_others, priority=400)
    return {'parallel_read_safe': True, 'parallel_write_safe': True}
