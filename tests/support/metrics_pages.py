"""Pages of metrics as values."""

from prometheus_client.parser import text_string_to_metric_families


def samples_of(page):
    """{(name, ((label, value), …)): figure} of a page, its bytes or its text."""
    text = page.decode() if isinstance(page, bytes) else page
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def value(page, name, **labels):
    """One figure; 0 where the page has none."""
    return samples_of(page).get((name, tuple(sorted(labels.items()))), 0)


def names_of(page):
    """The names of a page's metrics, those without a figure too, as its queries have them: counters with their _total."""
    text = page.decode() if isinstance(page, bytes) else page
    return {line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")}
