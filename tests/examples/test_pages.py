"""The pages of ``make docs``: links, and formulas without the network."""
import shutil
import subprocess
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

PAGES = Path(__file__).resolve().parents[2]/'build'/'doc'/'html'
BROWSER = next(filter(None, map(shutil.which, (
    'chromium', 'chromium-browser', 'google-chrome'))), None)
pytestmark = [pytest.mark.slow, pytest.mark.skipif(
    not (PAGES/'index.html').exists(), reason='make docs makes the pages')]


class Page(HTMLParser):
    """Anchors, links, and what the page loads."""

    def __init__(self, path):
        super().__init__()
        self.anchors, self.links, self.loaded = {''}, [], []
        self.feed(path.read_text(encoding='utf-8'))

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.anchors.update(filter(None, (given.get('id'), given.get('name'))))
        if tag == 'a' and given.get('href'):
            self.links.append(given['href'])
        elif tag == 'link' and given.get('rel') == 'stylesheet':
            self.loaded.append(given['href'])
        elif tag in ('script', 'img', 'iframe') and given.get('src'):
            self.loaded.append(given['src'])


read = cache(Page)


def test_links_lead_somewhere():
    dead = []
    for path in sorted(PAGES.rglob('*.html')):
        for link in {*read(path).links, *read(path).loaded}:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = ((path.parent/unquote(parts.path)).resolve()
                      if parts.path else path)
            if not target.exists() or (
                    target.suffix == '.html' and unquote(parts.fragment)
                    not in read(target).anchors):
                dead.append(f'{path.relative_to(PAGES)}: {link}')
    assert not dead


def test_nothing_is_loaded_from_elsewhere():
    assert not [(path.name, source) for path in PAGES.rglob('*.html')
                for source in read(path).loaded
                if urlsplit(source).netloc]


@pytest.mark.skipif(BROWSER is None, reason='needs chromium')
def test_formulas_are_drawn_without_the_network(tmp_path):
    """On every page, and without a message of the browser."""
    wrong, count = [], 0
    for path in sorted(PAGES.rglob('*.html')):
        formulas = path.read_text(encoding='utf-8').count('class="math ')
        if not formulas:
            continue
        run = subprocess.run(
            [BROWSER, '--headless', '--no-sandbox', '--disable-gpu',
             '--disable-background-networking', '--enable-logging=stderr',
             '--host-resolver-rules=MAP * ~NOTFOUND',
             f'--user-data-dir={tmp_path}', '--virtual-time-budget=5000',
             '--dump-dom', path.as_uri()],
            capture_output=True, text=True, check=True, timeout=120)
        count += 1
        if (run.stdout.count('<mjx-container') < formulas
                or '<mjx-merror' in run.stdout or 'CONSOLE' in run.stderr):
            wrong.append(str(path.relative_to(PAGES)))
    assert count > 50 and not wrong
