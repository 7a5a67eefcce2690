"""Which summands of input and output are connected by any equivariant map."""

from collections.abc import Iterable

Component = tuple[tuple[int, ...], tuple[int, ...]]


def connected_components(outputs: int, inputs: int, links: Iterable[tuple[int, int]]) -> list[Component]:
    """(output summands, input summands) of each component of the graph whose edges are ``links`` (output, input); an output
    without a link is a component without inputs, an input without a link is in none."""
    found = list(links)
    label = list(range(outputs))  # the smallest output of the component so far
    reaches = {entry: [output for output, source in found if source == entry] for entry in range(inputs)}
    for joined in reaches.values():
        labels = {label[output] for output in joined}
        label = [min(labels) if each in labels else each for each in label]
    components = []
    for root in sorted(set(label)):
        members = tuple(output for output in range(outputs) if label[output] == root)
        components.append(
            (members, tuple(entry for entry, joined in reaches.items() if joined and label[joined[0]] == root))
        )
    return components
