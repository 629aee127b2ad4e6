"""The page of changes: ``CHANGELOG.md`` as reStructuredText."""
import re
from pathlib import Path

RULES = ((r'^# (.*)$', r'\1\n=========='),
         (r'^## (.*)$', r'\1\n' + '-'*40),
         (r'^### (.*)$', r'\1\n' + '^'*40),
         (r'`([^`]+)`', r'``\1``'),
         (r'\[([^]]+)\]\((\S+)\)', r'`\1 <\2>`_'))


def read_changelog(app, docname, content):
    if docname == 'changelog':
        path = Path(app.srcdir).parent/'CHANGELOG.md'
        app.env.note_dependency(path)
        text = path.read_text(encoding='utf-8')
        for pattern, replacement in RULES:
            text = re.sub(pattern, replacement, text, flags=re.MULTILINE)
        content[0] = text


def setup(app):
    app.connect('source-read', read_changelog)
    return {'version': '1', 'parallel_read_safe': True,
            'parallel_write_safe': True}
