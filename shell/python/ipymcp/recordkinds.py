"""Which classes are records, and what their fields are. Main thread: it reads attributes of the user's classes."""

from __future__ import annotations

import dataclasses
import inspect
import typing
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ipymcp.forms import Form, Unsupported
from ipymcp.plainjson import DefaultError
from ipymcp.records import Field, Record
from ipymcp.resolving import MISSING, Scope, class_annotations, reference_text, resolve, scope_of_class
from ipymcp.typenames import bases, class_name, lookup

if TYPE_CHECKING:
    from ipymcp.formbuilder import FormBuilder

# Qualifiers of a field, by name, since `typing_extensions` may have its own.
_REQUIRED = {"Required": True, "NotRequired": False}
_QUALIFIERS = frozenset({*_REQUIRED, "ReadOnly", "Final"})


def record_of(cls: type, builder: FormBuilder) -> Form | None:
    """The form of a class with fields; None for any other class."""
    if issubclass(cls, dict) and lookup(cls, "__required_keys__") is not None:
        return Record("typed_dict", cls, list(_typed_dict(cls, builder)), dict)
    if lookup(cls, "model_validate") is not None and isinstance(getattr(cls, "model_fields", None), dict):
        return _model(cls, builder)
    if lookup(cls, "__dataclass_fields__") is not None:
        return _dataclass(cls, builder)
    return None


def _typed_dict(cls: Any, builder: FormBuilder) -> Iterator[Field]:
    scope = scope_of_class(cls)
    required_keys = cls.__required_keys__
    for name, annotation in class_annotations(cls).items():
        annotation, required = _unqualified(annotation, scope, builder)
        required = name in required_keys if required is None else required
        yield Field(name, name, builder.form(annotation, scope), required, MISSING, "")


def _unqualified(annotation: Any, scope: Scope, builder: FormBuilder) -> tuple[Any, bool | None]:
    """The annotation without qualifiers, and whether one of them says that the field is required."""
    required: bool | None = None
    for _ in range(8):
        text = reference_text(annotation)
        if text is not None and any(name in text for name in _QUALIFIERS):
            try:
                annotation = resolve(annotation, text, scope, builder.seen)
            except Exception:  # the same attempt again gives the reason
                return annotation, required
        name = getattr(typing.get_origin(annotation), "_name", None)
        if name not in _QUALIFIERS:
            break
        required = _REQUIRED.get(name, required)
        annotation = typing.get_args(annotation)[0]
    return annotation, required


def _dataclass(cls: Any, builder: FormBuilder) -> Form:
    known = lookup(cls, "__dataclass_fields__")
    builder.seen.append((vars(cls), "__dataclass_fields__", vars(cls).get("__dataclass_fields__", MISSING)))
    parameters = [name for name in inspect.signature(cls).parameters if name in known]
    if len(parameters) < len(inspect.signature(cls).parameters):
        return Unsupported(f"the constructor of the dataclass {class_name(cls)} takes more than its fields")
    fields = [_dataclass_field(cls, known[name], builder) for name in parameters]
    return Record("dataclass", cls, fields, lambda converted: cls(**converted))


def _dataclass_field(cls: type, field: dataclasses.Field[Any], builder: FormBuilder) -> Field:
    home = next((base for base in bases(cls) if field.name in _own_annotations(base)), cls)
    scope = scope_of_class(home)
    annotation: Any = _own_annotations(home).get(field.name, field.type)
    text = reference_text(annotation)
    if text is not None and "InitVar" in text:
        annotation = resolve(annotation, text, scope, builder.seen)
    if isinstance(annotation, dataclasses.InitVar):
        annotation = annotation.type
    annotation, _ = _unqualified(annotation, scope, builder)
    form = builder.form(annotation, scope)
    required = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
    default = MISSING if field.default is dataclasses.MISSING else _encoded(form, field.default)
    description = getattr(field, "doc", None)  # new in CPython 3.14
    return Field(field.name, field.name, form, required, default, description if isinstance(description, str) else "")


def _own_annotations(cls: type) -> dict[str, Any]:
    return {} if cls.__module__ == "builtins" else class_annotations(cls)


def _model(cls: Any, builder: FormBuilder) -> Form:
    if getattr(cls, "__pydantic_root_model__", False):
        return Unsupported(f"{class_name(cls)} is a root model: annotate with what it holds")
    fields = []
    for attribute, info in cls.model_fields.items():
        alias = getattr(info, "validation_alias", None) or getattr(info, "alias", None)
        if alias is not None and not isinstance(alias, str):
            return Unsupported(f"the field {attribute} of {class_name(cls)} has an alias that is no string")
        home = next((base for base in bases(cls) if attribute in _own_annotations(base)), cls)
        form = builder.form(info.annotation, scope_of_class(home))
        required = bool(info.is_required())
        has_default = not required and info.default_factory is None
        default = _encoded(form, info.default) if has_default else MISSING
        fields.append(Field(alias or attribute, attribute, form, required, default, _model_text(info)))
    return Record("model", cls, fields, cls.model_validate)


def _model_text(info: Any) -> str:
    """`Field(description=…)`, or else the text of `Annotated`."""
    texts = [info.description, *(info.metadata or ())]
    return next((text for text in texts if isinstance(text, str) and text), "")


def _encoded(form: Form, default: Any) -> Any:
    try:
        return form.encode(default)
    except DefaultError:
        return MISSING
