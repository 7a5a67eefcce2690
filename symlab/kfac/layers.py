"""Which layers of a model have curvature, and what they saw in a forward pass.

``find_layers`` pairs every layer that has trainable parameters with its rules and refuses what it does not know: a
parameter is never left out silently. ``Capture`` records each use of each layer during a forward pass, its input and the
edge of the autograd graph at its output, so that any graph works: branches, residual sums, a layer used several times,
in-place activations.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.graph import GradientEdge, get_gradient_edge, saved_tensors_hooks
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.dropout import _DropoutNd

from symlab.channelwise_maximum import channelwise_maximum, has_channelwise_maximum
from symlab.circular_convolution import circular_convolution
from symlab.copies import CopyAverage
from symlab.errors import ConfigError
from symlab.kfac.rules import STANDARD_RULES, BlockRule, RuleOptions, Rules
from symlab.kfac.shared_shift import SharedShift, is_known_activation, is_plain_max_pooling
from symlab.plain_convolution import plain_convolution
from symlab.signatures import with_signature
from symlab.window_maximum import window_maximum, window_of


@dataclass(frozen=True)
class Layer:
    """A module of the model with the rules of its blocks; ``name`` as in model.named_modules()."""

    name: str
    module: nn.Module
    rules: tuple[BlockRule, ...]

    def full_names(self, rule: BlockRule) -> tuple[str, ...]:
        return tuple(f"{self.name}.{name}" if self.name else name for name in rule.names)


class _Arrival(torch.autograd.Function):
    """Calls ``take`` with the gradients of all signals (K, ...): under vmap, which shows every operation one signal, a rule
    of one's own is what gets to see them together. Returns nothing of use."""

    @staticmethod
    @with_signature
    def forward(gradient: Tensor, take: Callable[[Tensor], None]) -> Tensor:
        take(gradient[None])
        return gradient.new_zeros(())

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        pass

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int, None], gradients: Tensor, take: Callable[[Tensor], None]) -> tuple[Tensor, None]:
        take(gradients.movedim(in_dims[0], 0))
        return gradients.new_zeros(()), None


class GradientReceiver:
    """Is handed the gradients (K, ...) of a layer's output while the backward pass goes on: they need not be kept."""

    def __init__(self) -> None:
        self.take: Callable[[Tensor], None] | None = None

    def __call__(self, gradient: Tensor) -> None:
        if self.take is not None:
            _Arrival.apply(gradient, self.take)


@dataclass
class LayerUse:
    """One call of a layer: its input (N, ...) and where gradients of its output arrive."""

    layer: Layer
    inputs: Tensor
    edge: GradientEdge
    receiver: GradientReceiver
    is_start: bool  # no layer with curvature comes before it: the graph starts here
    version: int  # of the input's memory, to notice a later change in place
    output_bytes: int
    is_map: bool  # the output is (N, C, H, W), not vectors (N, ..., d)


def _is_excluded(name: str, exclude: tuple[str, ...]) -> bool:
    return any(name == prefix or name.startswith(f"{prefix}.") for prefix in exclude)


def _factory_for(module: nn.Module, rules: Rules) -> Any:
    """The layer's own method first, then the given rules, by class; a subclass inherits a rule if it inherits
    ``forward``."""
    if hasattr(module, "curvature_rules"):
        return lambda layer, options: layer.curvature_rules(options)
    for ancestor in type(module).__mro__:
        if ancestor in rules and getattr(type(module), "forward", None) is getattr(ancestor, "forward", None):
            return rules[ancestor]
    return None


def find_layers(
    model: nn.Module, options: RuleOptions, rules: Rules | None = None, exclude: Iterable[str] = ()
) -> list[Layer]:
    """Every layer with trainable parameters; ``exclude`` lists modules or parameters, by name, that are left out on
    purpose."""
    known = {**STANDARD_RULES, **(rules or {})}
    exclude = tuple(exclude)
    layers: list[Layer] = []
    covered: tuple[str, ...] = ()
    owners: dict[int, str] = {}
    for name, module in model.named_modules():
        if _is_excluded(name, covered + exclude):
            continue
        factory = _factory_for(module, known)
        own = dict(module.named_parameters(prefix=name, recurse=factory is not None))
        own = {key: value for key, value in own.items() if value.requires_grad and not _is_excluded(key, exclude)}
        for key, parameter in own.items():
            if id(parameter) in owners:
                raise ConfigError(
                    f"{key} and {owners[id(parameter)]} are one tensor in two layers: call one module twice instead, "
                    "or exclude both"
                )
            owners[id(parameter)] = key
        if not own:
            continue
        if factory is None:
            raise ConfigError(_no_rule(name, module, own))
        covered += (name,)
        layers.append(_with_rules(name, module, factory(module, options), own))
    return layers


def _with_rules(name: str, module: nn.Module, rules: list[BlockRule], trainable: dict[str, nn.Parameter]) -> Layer:
    layer = Layer(name, module, ())
    kept, seen = [], set()
    for rule in rules:
        names = layer.full_names(rule)
        wanted = [full for full in names if full in trainable]
        if wanted and len(wanted) < len(names):
            raise ConfigError(f"{names} form one block, but only {wanted} is trainable: use bias='separate'")
        if wanted:
            kept.append(rule)
            seen.update(wanted)
    missing = [full for full in trainable if full not in seen]
    if missing:
        raise ConfigError(f"the rules of {type(module).__name__} ({name}) say nothing of {', '.join(missing)}")
    return Layer(name, module, tuple(kept))


def _no_rule(name: str, module: nn.Module, own: dict[str, nn.Parameter]) -> str:
    where = f"layer '{name}'" if name else "the model itself"
    return (
        f"{where} ({type(module).__name__}) has trainable parameters ({', '.join(own)}) but no curvature rule: give the "
        f"class a method curvature_rules(options), pass rules={{{type(module).__name__}: ...}}, freeze them, or leave "
        f"them out on purpose with exclude=['{next(iter(own))}']"
    )


def refuse_batch_dependence(model: nn.Module) -> None:
    for name, module in model.named_modules():
        if isinstance(module, _BatchNorm) and module.training:
            raise ConfigError(
                f"layer '{name}' ({type(module).__name__}) is in training mode: its output depends on the whole batch, so a "
                f"data point has no Jacobian of its own; call model.eval() first"
            )
        if isinstance(module, _DropoutNd) and module.training and module.p > 0:
            raise ConfigError(
                f"layer '{name}' ({type(module).__name__}) is in training mode: it makes the network random; call "
                f"model.eval()"
            )


def _is_torus_convolution(module: nn.Module) -> bool:
    """A plain nn.Conv2d that ``circular_convolution`` equals."""
    if type(module) is not nn.Conv2d or module.padding_mode != "circular" or "forward" in module.__dict__:
        return False
    same_size = module.padding == tuple(side // 2 for side in module.kernel_size) and all(k % 2 for k in module.kernel_size)
    return same_size and set(module.stride) | set(module.dilation) | {module.groups} == {1}


def _convolve_on_torus(module: nn.Conv2d, features: Tensor) -> Tensor:
    return circular_convolution(features, module.weight, module.bias)


def _is_plain_convolution(module: nn.Module) -> bool:
    """A plain nn.Conv2d that ``plain_convolution`` equals."""
    if type(module) is not nn.Conv2d or module.padding_mode != "zeros" or "forward" in module.__dict__:
        return False
    if isinstance(module.padding, str) or set(module.stride) | set(module.dilation) | {module.groups} != {1}:
        return False
    return all(pad < extent for pad, extent in zip(module.padding, module.kernel_size, strict=True))


def _convolve_plainly(module: nn.Conv2d, features: Tensor) -> Tensor:
    assert not isinstance(module.padding, str)
    if module.weight.requires_grad:  # as something that others ask for the gradient of
        return nn.Conv2d.forward(module, features)
    return plain_convolution(features, module.weight, module.bias, (module.padding[0], module.padding[1]))


def _faster_forward(module: nn.Module) -> Callable[[Tensor], Tensor] | None:
    """The same map with cheaper gradients in its features, where there is one."""
    if _is_torus_convolution(module):
        return partial(_convolve_on_torus, module)  # type: ignore[arg-type]
    if _is_plain_convolution(module):
        return partial(_convolve_plainly, module)  # type: ignore[arg-type]
    return None


class Capture:
    """``with Capture(layers) as capture: model(x)`` leaves the uses of all layers in ``capture.uses``, in order.

    With ``model`` and ``n_data`` a first layer that sees several copies of each data point gives its output gradients summed
    over them: see ``symlab.kfac.shared_shift``."""

    def __init__(self, layers: list[Layer], model: nn.Module | None = None, n_data: int = 0):
        self.layers, self.n_data = layers, n_data
        self.model = model
        self.uses: list[LayerUse] = []
        self.shared: SharedShift | None = None
        self.rectified: tuple[Tensor, Tensor] | None = None  # what the last ReLU took and gave, until something pools

    def __enter__(self) -> "Capture":
        self.handles = [layer.module.register_forward_hook(self._hook(layer)) for layer in self.layers]
        self.replaced = []
        for layer in self.layers:
            faster = _faster_forward(layer.module)
            if faster is not None:
                layer.module.forward = faster
                self.replaced.append(layer.module)
        for module, forward in self._readers():  # not kept: they know this object, and what refers to itself lives longer
            module.forward = partial(forward, module)
            self.replaced.append(module)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for handle in self.handles:
            handle.remove()
        for module in self.replaced:
            del module.forward
        self.rectified = None

    def _hook(self, layer: Layer) -> Any:
        def record(module: nn.Module, arguments: tuple[Any, ...], output: Any) -> Tensor:
            if not isinstance(output, Tensor) or not arguments or not isinstance(arguments[0], Tensor):
                raise ConfigError(
                    f"layer '{layer.name}' must take one tensor and return one tensor to have a curvature rule"
                )
            is_start, is_map = not output.requires_grad, output.dim() > 3
            if not self.uses and 0 < self.n_data < len(output):
                self.shared = SharedShift(output, self.n_data)
                is_start, observed, output = True, self.shared.shift, self.shared.shifted
            else:
                observed = output = output + output.new_zeros((), requires_grad=True) if is_start else output
            inputs, edge, receiver = arguments[0], get_gradient_edge(observed), GradientReceiver()
            observed.register_hook(receiver)
            self.uses.append(LayerUse(layer, inputs, edge, receiver, is_start, inputs._version, output.nbytes, is_map))
            return output

        return record

    def _readers(self) -> Iterator[tuple[nn.Module, Callable[..., Tensor]]]:
        """What knows how to read the output of a first layer that several copies share."""
        for module in [] if self.model is None else self.model.modules():
            if is_plain_max_pooling(module):
                yield module, self._pool
            elif is_known_activation(module):
                yield module, self._activate
            elif type(module) is CopyAverage:
                yield module, self._average

    def _pool(self, module: nn.MaxPool2d, features: Tensor) -> Tensor:
        if self.shared is not None and self.shared.is_read_by(features):
            return self.shared.pool(module)
        before, self.rectified = self.rectified, None
        window = window_of(module)
        if window == (2, 2) and has_channelwise_maximum(features):
            if before is not None and features is before[1] and features._version == 0:
                return channelwise_maximum(before[0], features.detach())
            return channelwise_maximum(features)
        if window is None or not features.is_contiguous():
            return nn.MaxPool2d.forward(module, features)
        return window_maximum(features, window)

    def _activate(self, module: nn.Module, features: Tensor) -> Tensor:
        if self.shared is not None and self.shared.is_read_by(features):
            return self.shared.activate(module)
        activated = type(module).forward(module, features)
        if type(module) is nn.ReLU:
            self.rectified = (features, activated)
        return activated

    def _average(self, module: CopyAverage, features: Tensor, n_data: int) -> Tensor:
        if self.shared is not None and self.shared.is_averaged_in(features):
            return self.shared.average()
        return CopyAverage.forward(module, features, n_data)

    def check_complete(self) -> None:
        used = {id(use.layer) for use in self.uses}
        for layer in self.layers:
            if id(layer) not in used:
                raise ConfigError(
                    f"layer '{layer.name}' ({type(layer.module).__name__}) has trainable parameters but was not called in "
                    f"the forward pass: call the module itself, freeze it, or pass exclude=['{layer.name}']"
                )


def unchanged_inputs(use: LayerUse) -> Tensor:
    """The input of a use, unless something was written into its memory since."""
    if use.inputs._version != use.version:
        raise ConfigError(
            f"the input of layer '{use.layer.name}' was changed in place after the layer read it: use an out-of-place "
            f"operation"
        )
    return use.inputs


def per_data_point(tensor: Tensor, n_data: int, layer: str, average: bool) -> Tensor:
    """Bring (N S, ...) to (N, ...) where a network sees S copies of each data point (sample by sample: n-major).

    Over the copies KFAC is taken in the reduce setting, LILA Eq. 14: inputs are averaged, output gradients summed.
    """
    if len(tensor) == n_data:
        return tensor
    if len(tensor) % n_data:
        raise ConfigError(
            f"layer '{layer}' sees {len(tensor)} rows for {n_data} data points: the first dimension must be the data "
            f"points, or a whole number of copies of each"
        )
    copies = tensor.unflatten(0, (n_data, -1))
    return copies.mean(1) if average else copies.sum(1)


def captured_bytes(uses: list[LayerUse]) -> int:
    """Of inputs and outputs."""
    return sum(use.inputs.nbytes + use.output_bytes for use in uses)


class HeldBytes(saved_tensors_hooks):
    """``with HeldBytes(weights) as held: model(x)``: the bytes that the graph keeps for its backward pass, without the
    weights; memory that several operations keep is counted once."""

    def __init__(self, weights: Iterable[Tensor]):
        super().__init__(self.count, lambda tensor: tensor)
        self.of_weights = {weight.untyped_storage()._cdata for weight in weights}
        self.found: dict[int, int] = {}

    def count(self, tensor: Tensor) -> Tensor:
        memory = tensor.untyped_storage()._cdata
        if memory not in self.of_weights:
            # The tensor's own bytes: its memory may be the whole data set's, of which it is a few rows.
            self.found[memory] = max(self.found.get(memory, 0), tensor.nbytes)
        return tensor

    @property
    def total(self) -> int:
        return sum(self.found.values())
