"""The pages of the admin and metrics listeners, read as a scraper reads them."""
import http.client
import re

SAMPLE = re.compile(r'^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$')
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"')


def fetch(address, method, target, headers=None, body=None):
    """(status, headers, body) of one exchange."""
    connection = http.client.HTTPConnection(address[0], address[1], timeout=60)
    try:
        connection.request(method, target, body=body, headers=headers or {})
        response = connection.getresponse()
        return response.status, response.headers, response.read()
    finally:
        connection.close()


class Metrics:
    def __init__(self, text):
        self.text = text
        self.samples = []
        for line in text.splitlines():
            if line and not line.startswith("#"):
                match = SAMPLE.match(line)
                assert match, f"not a sample: {line!r}"
                self.samples.append((match[1], dict(LABEL.findall(match[2] or "")), float(match[3])))

    def all(self, name, **labels):
        return [(have, value) for n, have, value in self.samples
                if n == name and all(have.get(k) == v for k, v in labels.items())]

    def sum(self, name, **labels):
        return sum(value for _, value in self.all("penstock_" + name, **labels))
