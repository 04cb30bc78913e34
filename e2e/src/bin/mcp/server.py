"""A server with something of everything, in both eras of the protocol, that writes down what it ran.

    server.py LOG [PORT]

Each tool that runs adds its name and arguments to the file LOG, so whether a call came through is seen there and not
in what anybody says about it. With PORT it serves streamable HTTP, otherwise stdin and stdout. The tools that are
called `test_…` and their neighbours are those the conformance package asks for.
"""

import base64
import json
import os
import sys
import warnings
from typing import Annotated, Literal

import anyio
from mcp.server.mcpserver import Context, Elicit, ListRoots, MCPServer, Resolve, Sample
from mcp.server.elicitation import ElicitationResult
from mcp.server.mcpserver.prompts.base import UserMessage
from mcp.server.streamable_http import EventMessage, EventStore
from mcp_types import (
    AudioContent,
    CallToolResult,
    Completion,
    CreateMessageRequest,
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequest,
    ElicitRequestFormParams,
    EmbeddedResource,
    EmptyResult,
    ImageContent,
    InputRequiredResult,
    ListRootsRequest,
    ListRootsResult,
    SamplingMessage,
    SetLevelRequestParams,
    SubscribeRequestParams,
    TextContent,
    TextResourceContents,
    ToolAnnotations,
    UnsubscribeRequestParams,
)
from pydantic import BaseModel, Field

LOG = sys.argv[1]
PORT = int(sys.argv[2]) if len(sys.argv) > 2 else None

# What nobody says but who has called the tool that gives it.
TOKEN = "TICKET-40718265"
DOT = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(24)).decode()
SILENCE = base64.b64encode(b"RIFF" + bytes(40)).decode()

# Logging and roots are going out of the protocol, and are used here on purpose.
warnings.simplefilter("ignore")

server = MCPServer(
    "rig",
    title="Something of everything",
    instructions="Call what you like.",
    version="7.0",
    log_level="ERROR",
)


def ran(tool, **arguments):
    # In one piece, because calls run beside each other.
    line = json.dumps({"tool": tool, "arguments": arguments}, sort_keys=True) + "\n"
    with open(LOG, "a", encoding="utf-8") as log:
        log.write(line)


def text(words):
    return [TextContent(type="text", text=words)]


def answer(words):
    return CallToolResult(content=text(words))


# Plain tools.


@server.tool(annotations=ToolAnnotations(title="Echo", read_only_hint=True))
def echo(words: str) -> str:
    """Say the words again"""
    ran("echo", words=words)
    return words


@server.tool(annotations=ToolAnnotations(destructive_hint=True))
def erase(path: str) -> str:
    """Erase a file, in pretence only"""
    ran("erase", path=path)
    return f"erased {path}"


@server.tool()
def send(to: str, body: str) -> str:
    """Send a letter, in pretence only"""
    ran("send", to=to, body=body)
    return f"sent to {to}"


class Account(BaseModel):
    owner: str
    token: str


@server.tool()
def account(owner: str) -> Account:
    """An account and its token"""
    ran("account", owner=owner)
    return Account(owner=owner, token=TOKEN)


@server.tool()
def fail() -> str:
    """Always fail"""
    ran("fail")
    raise ValueError("this was meant to fail")


@server.tool()
async def crash() -> str:
    """End the whole server in the middle of the call"""
    ran("crash")
    os._exit(3)


@server.tool()
async def count(steps: int, pause_ms: int, ctx: Context) -> str:
    """Count slowly, and tell how far it is"""
    ran("count", steps=steps)
    await ctx.log("info", f"counting to {steps}", logger_name="rig")
    try:
        for step in range(1, steps + 1):
            await ctx.report_progress(step, steps, f"step {step}")
            await anyio.sleep(pause_ms / 1000)
    except anyio.get_cancelled_exc_class():
        ran("count cancelled")
        raise
    return f"counted to {steps}"


@server.tool()
async def hang_up(ctx: Context) -> str:
    """Close the stream that the answer belongs to, so that the client has to come back for it"""
    ran("hang_up")
    await ctx.close_sse_stream()
    await anyio.sleep(0.2)
    return "welcome back"


# Tools that ask back. In the older era each question is a request of its own, in the newer one part of the result.


class Name(BaseModel):
    name: str


def ask_for_name():
    return Elicit("What is your name?", Name)


@server.tool()
def ask_user(name: Annotated[ElicitationResult[Name], Resolve(ask_for_name)]) -> str:
    """Ask the user for a name"""
    ran("ask_user", action=name.action)
    return f"{name.action} {name.data.name}" if name.action == "accept" else name.action


def question(words):
    return SamplingMessage(role="user", content=TextContent(type="text", text=words))


def ask_for_verse():
    return Sample([question("Write a verse")], max_tokens=50)


@server.tool()
def ask_model(verse: Annotated[CreateMessageResult, Resolve(ask_for_verse)]) -> str:
    """Ask the client's model for a verse"""
    ran("ask_model")
    return f"{verse.model} wrote: {verse.content.text}"


def ask_for_roots():
    return ListRoots()


@server.tool()
def ask_roots(roots: Annotated[ListRootsResult, Resolve(ask_for_roots)]) -> str:
    """Ask the client for its roots"""
    ran("ask_roots")
    return " ".join(str(root.uri) for root in roots.roots)


# Resources, prompts, completion.


@server.resource("rig://page", mime_type="text/plain", description="A page")
def page() -> str:
    return "the words of the page"


@server.resource("rig://page/{number}", mime_type="text/plain", description="A page by its number")
def numbered_page(number: str) -> str:
    return f"page {number}"


@server.resource("test://static-text", mime_type="text/plain", description="Text")
def static_text() -> str:
    return "This is the content of the static text resource."


@server.resource("test://static-binary", mime_type="image/png", description="An image")
def static_binary() -> bytes:
    return base64.b64decode(DOT)


@server.resource("test://template/{id}/data", mime_type="application/json", description="Data by its number")
def template(id: str) -> str:
    return json.dumps({"id": id, "templateTest": True, "data": f"Data for ID: {id}"})


@server.prompt(description="A greeting")
def greeting(name: str) -> str:
    return f"Greet {name}"


@server.prompt(description="Without arguments")
def test_simple_prompt() -> str:
    return "This is a simple prompt for testing."


@server.prompt(description="With arguments")
def test_prompt_with_arguments(arg1: str, arg2: str) -> str:
    return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"


@server.prompt(description="With a resource")
def test_prompt_with_embedded_resource(resourceUri: str) -> list[UserMessage]:
    contents = TextResourceContents(
        uri=resourceUri, mime_type="text/plain", text="Embedded resource content for testing."
    )
    return [
        UserMessage(content=EmbeddedResource(type="resource", resource=contents)),
        UserMessage(content="Please process the embedded resource above."),
    ]


@server.prompt(description="With an image")
def test_prompt_with_image() -> list[UserMessage]:
    return [
        UserMessage(content=ImageContent(type="image", data=DOT, mime_type="image/png")),
        UserMessage(content="Please analyze the image above."),
    ]


@server.completion()
async def complete(ref, argument, context):
    words = ["alder", "ash", "beech"]
    return Completion(values=[word for word in words if word.startswith(argument.value)], has_more=False)


# What the conformance package calls.


@server.tool()
def test_simple_text() -> CallToolResult:
    """Text"""
    return answer("This is a simple text response for testing.")


@server.tool()
def test_image_content() -> CallToolResult:
    """An image"""
    return CallToolResult(content=[ImageContent(type="image", data=DOT, mime_type="image/png")])


@server.tool()
def test_audio_content() -> CallToolResult:
    """A sound"""
    return CallToolResult(content=[AudioContent(type="audio", data=SILENCE, mime_type="audio/wav")])


def embedded(uri, mime_type, words):
    contents = TextResourceContents(uri=uri, mime_type=mime_type, text=words)
    return EmbeddedResource(type="resource", resource=contents)


@server.tool()
def test_embedded_resource() -> CallToolResult:
    """A resource"""
    words = "This is an embedded resource content."
    return CallToolResult(content=[embedded("test://embedded-resource", "text/plain", words)])


@server.tool()
def test_multiple_content_types() -> CallToolResult:
    """Text, an image and a resource"""
    data = json.dumps({"test": "data", "value": 123})
    image = ImageContent(type="image", data=DOT, mime_type="image/png")
    resource = embedded("test://mixed-content-resource", "application/json", data)
    return CallToolResult(content=[*text("Multiple content types test:"), image, resource])


@server.tool()
async def test_tool_with_logging(ctx: Context) -> CallToolResult:
    """Three lines of a log"""
    for line in ["Tool execution started", "Tool processing data", "Tool execution completed"]:
        await ctx.log("info", line)
        await anyio.sleep(0.05)
    return answer("logged")


@server.tool()
async def test_tool_with_progress(ctx: Context) -> CallToolResult:
    """Three steps"""
    for step in [0, 50, 100]:
        await ctx.report_progress(step, 100)
        await anyio.sleep(0.05)
    return answer("done")


@server.tool()
def test_error_handling() -> CallToolResult:
    """Always fail"""
    return CallToolResult(content=text("This tool intentionally returns an error for testing"), is_error=True)


@server.tool()
async def test_sampling(prompt: str, ctx: Context) -> CallToolResult:
    """Ask the client's model"""
    result = await ctx.request_context.session.create_message(
        messages=[question(prompt)], max_tokens=100, related_request_id=ctx.request_id
    )
    return answer(f"LLM response: {result.content.text}")


async def elicit(ctx, words, schema):
    result = await ctx.elicit(words, schema)
    content = result.data.model_dump() if result.action == "accept" else {}
    return answer(f"User response: action={result.action}, content={json.dumps(content)}")


class Person(BaseModel):
    username: str = Field(description="User's response")
    email: str = Field(description="User's email address")


@server.tool()
async def test_elicitation(message: str, ctx: Context) -> CallToolResult:
    """Ask the user"""
    return await elicit(ctx, message, Person)


class Defaults(BaseModel):
    name: str = "John Doe"
    age: int = 30
    score: float = 95.5
    status: Literal["active", "inactive", "pending"] = "active"
    verified: bool = True


@server.tool()
async def test_elicitation_sep1034_defaults(ctx: Context) -> CallToolResult:
    """Ask the user, with defaults"""
    return await elicit(ctx, "Please look at the defaults", Defaults)


OPTIONS = ["option1", "option2", "option3"]
TITLED = [{"const": f"value{n}", "title": f"Option {n}"} for n in [1, 2, 3]]
CHOICES = {
    "type": "object",
    "properties": {
        "untitledSingle": {"type": "string", "enum": OPTIONS},
        "titledSingle": {"type": "string", "oneOf": TITLED},
        "legacyEnum": {"type": "string", "enum": ["opt1", "opt2"], "enumNames": ["Option One", "Option Two"]},
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": OPTIONS}},
        "titledMulti": {"type": "array", "items": {"anyOf": TITLED}},
    },
}


@server.tool()
async def test_elicitation_sep1330_enums(ctx: Context) -> CallToolResult:
    """Ask the user to choose"""
    result = await ctx.request_context.session.elicit_form(
        "Please choose", CHOICES, related_request_id=ctx.request_id
    )
    return answer(f"Elicitation completed: action={result.action}, content={json.dumps(result.content)}")


def form(words, field, kind="string"):
    schema = {"type": "object", "properties": {field: {"type": kind}}, "required": [field]}
    return ElicitRequest(params=ElicitRequestFormParams(message=words, requested_schema=schema))


def sampling(words):
    return CreateMessageRequest(params=CreateMessageRequestParams(messages=[question(words)], max_tokens=100))


def given(ctx, key, kind):
    """What the client answered to one question, if it fits."""
    found = (ctx.input_responses or {}).get(key)
    return found if found is not None and hasattr(found, kind) else None


@server.tool()
def test_input_required_result_elicitation(ctx: Context) -> CallToolResult | InputRequiredResult:
    """Ask for a name"""
    name = given(ctx, "user_name", "action")
    if name is None or not isinstance((name.content or {}).get("name"), str):
        return InputRequiredResult(input_requests={"user_name": form("What is your name?", "name")})
    return answer(f"Hello, {name.content['name']}!")


@server.tool()
def test_input_required_result_sampling(ctx: Context) -> CallToolResult | InputRequiredResult:
    """Ask the model"""
    capital = given(ctx, "capital_question", "model")
    if capital is None:
        return InputRequiredResult(input_requests={"capital_question": sampling("What is the capital of France?")})
    return answer(capital.content.text)


@server.tool()
def test_input_required_result_list_roots(ctx: Context) -> CallToolResult | InputRequiredResult:
    """Ask for roots"""
    roots = given(ctx, "client_roots", "roots")
    if roots is None:
        return InputRequiredResult(input_requests={"client_roots": ListRootsRequest()})
    return answer(" ".join(str(root.uri) for root in roots.roots))


def with_state(ctx, words):
    if ctx.request_state is None or given(ctx, "confirm", "action") is None:
        return InputRequiredResult(
            input_requests={"confirm": form("Please confirm", "ok", "boolean")}, request_state="asked once"
        )
    return answer(words)


@server.tool()
def test_input_required_result_request_state(ctx: Context) -> CallToolResult | InputRequiredResult:
    """Ask, and remember"""
    return with_state(ctx, "state-ok")


@server.tool()
def test_input_required_result_tampered_state(ctx: Context) -> CallToolResult | InputRequiredResult:
    """Ask, and remember safely"""
    return with_state(ctx, "state-ok")


@server.tool()
def test_input_required_result_multiple_inputs(ctx: Context) -> CallToolResult | InputRequiredResult:
    """Ask three things at once"""
    if ctx.request_state is None:
        requests = {
            "user_name": form("What is your name?", "name"),
            "greeting": sampling("Generate a greeting"),
            "client_roots": ListRootsRequest(),
        }
        return InputRequiredResult(input_requests=requests, request_state="asked three")
    return answer("all three are here")


@server.tool()
def test_input_required_result_multi_round(ctx: Context) -> CallToolResult | InputRequiredResult:
    """Ask twice"""
    if ctx.request_state is None:
        return InputRequiredResult(
            input_requests={"step1": form("Step 1: What is your name?", "name")}, request_state="one"
        )
    if ctx.request_state == "one":
        return InputRequiredResult(
            input_requests={"step2": form("Step 2: What is your favorite color?", "color")}, request_state="two"
        )
    return answer("both are here")


@server.tool()
def test_input_required_result_capabilities(ctx: Context) -> CallToolResult | InputRequiredResult:
    """Ask only what the client can answer"""
    can = ctx.client_capabilities
    requests = {}
    if can is not None and can.sampling is not None:
        requests["sample"] = sampling("Say something")
    if can is not None and can.elicitation is not None:
        requests["form"] = form("What is your name?", "name")
    if ctx.input_responses is None and requests:
        return InputRequiredResult(input_requests=requests)
    return answer("nothing to ask")


@server.tool()
def test_missing_capability(verse: Annotated[CreateMessageResult, Resolve(ask_for_verse)]) -> CallToolResult:
    """Needs a client that has a model"""
    return answer(verse.content.text)


@server.prompt(description="Asks before it answers")
def test_input_required_result_prompt(ctx: Context) -> str | InputRequiredResult:
    found = given(ctx, "user_context", "action")
    if found is None:
        return InputRequiredResult(
            input_requests={"user_context": form("What context should the prompt use?", "context")}
        )
    return f"Use {(found.content or {}).get('context')}"


@server.tool()
def test_x_mcp_header(
    region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})], words: str = ""
) -> str:
    """Takes an argument that is mirrored in a header"""
    ran("test_x_mcp_header", region=region, words=words)
    return region


# The simple way to write a server has no place for these.

SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {"address": {"$anchor": "addressDef", "type": "object", "properties": {"street": {"type": "string"}}}},
    "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"}, "phone": {"type": "string"}},
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["name"]}]}],
    "if": {"properties": {"name": {"const": "nobody"}}, "required": ["name"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["name"]},
    "additionalProperties": False,
}


@server.tool()
def json_schema_2020_12_tool() -> str:
    """Has a schema with everything in it"""
    return "not called"


server._tool_manager.get_tool("json_schema_2020_12_tool").parameters = SCHEMA


async def nothing(ctx, params):
    return EmptyResult()


for method, params in [
    ("logging/setLevel", SetLevelRequestParams),
    ("resources/subscribe", SubscribeRequestParams),
    ("resources/unsubscribe", UnsubscribeRequestParams),
]:
    server._lowlevel_server.add_request_handler(method, params, nothing)



class Events(EventStore):
    """Keeps everything, so that any stream can be resumed; of one client, for streams are not told apart by sessions"""

    def __init__(self):
        self.all = []

    async def store_event(self, stream_id, message):
        self.all.append((stream_id, message))
        return str(len(self.all))

    async def replay_events_after(self, last_event_id, send_callback):
        last = int(last_event_id)
        stream_id, _ = self.all[last - 1]
        for place, (other, message) in enumerate(self.all[last:], last + 1):
            if other == stream_id and message is not None:
                await send_callback(EventMessage(message, str(place)))
        return stream_id


if PORT is None:
    server.run("stdio")
else:
    server.run("streamable-http", host="127.0.0.1", port=PORT, event_store=Events(), retry_interval=100)
