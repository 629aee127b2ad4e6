"""Numbered equations of a paper, and the tests that treat them."""


def citing():
    """A decorator that notes numbers, and the set of those noted."""
    cited = set()

    def cites(*numbers):
        """The decorated test treats these equations of the paper."""
        cited.update(numbers)
        return lambda function: function

    return cites, cited
