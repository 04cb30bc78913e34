"""Plays a script of steps with the Python SDK and writes down what the client saw, a line of JSON for each step.

    drive.py SCRIPT

The steps are those of drive.mjs. A step that takes too long is an error like others, so a session that hangs still
has a recording.
"""

import json
import sys
import warnings

import anyio
import mcp_types as types
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from pydantic import BaseModel

# What goes out of the protocol is used here on purpose.
warnings.simplefilter("ignore")

with open(sys.argv[1], encoding="utf-8") as file:
    SCRIPT = json.load(file)
ANSWERS = SCRIPT.get("answers") or {}
LIMIT = SCRIPT.get("step_limit_ms", 20000) / 1000


def plain(value):
    if isinstance(value, BaseModel):
        return value.model_dump(by_alias=True, mode="json", exclude_none=True)
    return value


class Anything(types.Result):
    model_config = {"extra": "allow"}


class Driver:
    def __init__(self):
        self.heard, self.counts, self.given = [], {}, {}
        self.news = anyio.Event()

    def hear(self, what):
        self.heard.append(what)
        key = what.get("method", "progress")
        self.counts[key] = self.counts.get(key, 0) + 1
        self.news.set()
        self.news = anyio.Event()

    def asked(self, kind, method, answer_type):
        """Answers questions of one kind; the last answer counts for all that follow."""
        if kind not in ANSWERS:
            return None

        async def answer(context, params=None):
            self.hear({"method": method, "params": plain(params)})
            self.given[kind] = self.given.get(kind, -1) + 1
            answers = ANSWERS[kind]
            return answer_type.model_validate(answers[min(self.given[kind], len(answers) - 1)])

        return answer

    async def on_message(self, message):
        if isinstance(message, BaseModel) and hasattr(message, "method"):
            # Progress is heard where it is awaited.
            if message.method != "notifications/progress":
                self.hear(plain(message))
        elif isinstance(message, Exception):
            print(f"driver: {message}", file=sys.stderr)

    def client(self):
        server = SCRIPT["server"]
        if "url" in server:
            headers = {"Authorization": f"Bearer {server['token']}"} if "token" in server else None
            target = streamable_http_client(server["url"], http_client=create_mcp_http_client(headers=headers))
        else:
            command, *args = server["command"]
            target = StdioServerParameters(command=command, args=args, cwd=server.get("folder"))
        return Client(
            target,
            # To adopt an era without a question would hide the question from the gate.
            mode="legacy" if SCRIPT["era"] == "legacy" else "auto",
            client_info=types.Implementation(name="rig", version="1"),
            message_handler=self.on_message,
            cache=None,
            # Without a limit of its own, a silent server would keep it from ever connecting.
            read_timeout_seconds=LIMIT,
            elicitation_callback=self.asked("elicitation", "elicitation/create", types.ElicitResult),
            sampling_callback=self.asked("sampling", "sampling/createMessage", types.CreateMessageResult),
            list_roots_callback=self.asked("roots", "roots/list", types.ListRootsResult),
        )

    async def play(self, step):
        try:
            with anyio.fail_after(LIMIT):
                return {"result": plain(await getattr(self, step["do"])(step))}
        except MCPError as error:
            outcome = {"code": error.error.code, "message": error.error.message}
            if error.error.data is not None:
                outcome["data"] = error.error.data
            return {"error": outcome}
        except TimeoutError:
            return {"error": {"message": "the rig has waited long enough"}}
        except Exception as error:
            return {"error": {"message": f"{type(error).__name__}: {error}"}}

    async def connect(self, step):
        version, info = self.open.protocol_version, self.open.server_info
        return {
            "version": version,
            "server": plain(info),
            "capabilities": plain(self.open.server_capabilities),
            "instructions": self.open.instructions,
        }

    async def list_tools(self, step):
        return await self.open.list_tools()

    async def list_resources(self, step):
        return await self.open.list_resources()

    async def list_templates(self, step):
        return await self.open.list_resource_templates()

    async def list_prompts(self, step):
        return await self.open.list_prompts()

    async def read(self, step):
        return await self.open.read_resource(step["uri"])

    async def prompt(self, step):
        return await self.open.get_prompt(step["name"], step.get("arguments"))

    async def complete(self, step):
        by_prompt = step["ref"]["type"] == "ref/prompt"
        kind = types.PromptReference if by_prompt else types.ResourceTemplateReference
        return await self.open.complete(kind.model_validate(step["ref"]), step["argument"])

    async def level(self, step):
        return await self.open.set_logging_level(step["level"])

    async def subscribe(self, step):
        return await self.open.subscribe_resource(step["uri"])

    async def unsubscribe(self, step):
        return await self.open.unsubscribe_resource(step["uri"])

    async def ping(self, step):
        return await self.open.send_ping()

    async def request(self, step):
        request = types.Request(method=step["method"], params=step.get("params"))
        return await self.open.session.send_request(request, Anything)

    async def notify(self, step):
        notification = types.Notification(method=step["method"], params=step.get("params"))
        return await self.open.session.send_notification(notification)

    async def call(self, step):
        scope = anyio.CancelScope()

        async def on_progress(progress, total, message):
            # What is still under way when a call is called off comes or does not come, and says nothing.
            # The last one may be lost on the client's side where it comes together with the result.
            if scope.cancel_called or progress == total:
                return
            self.hear({"progress": {"progress": progress, "total": total, "message": message}})
            if progress == step.get("cancel_at"):
                scope.cancel()

        result = None
        with scope:
            result = await self.open.call_tool(
                step["name"],
                step.get("arguments"),
                progress_callback=on_progress if step.get("progress") else None,
                meta=step.get("meta"),
            )
        if scope.cancelled_caught:
            raise RuntimeError("the rig has seen enough")
        return result

    async def wait(self, step):
        while self.counts.get(step["method"], 0) < step["times"]:
            await self.news.wait()

    async def sleep(self, step):
        await anyio.sleep(step["ms"] / 1000)

    async def together(self, step):
        outcomes = [None] * len(step["steps"])

        async def one(place, inner):
            outcomes[place] = await self.play(inner)

        async with anyio.create_task_group() as tasks:
            for place, inner in enumerate(step["steps"]):
                tasks.start_soon(one, place, inner)
        return outcomes

    def record(self, step, outcome):
        heard, self.heard = self.heard, []
        print(json.dumps({"step": step, **outcome, "heard": heard}), flush=True)

    async def run(self):
        connecting = {"do": "connect"}
        connected = False
        try:
            async with self.client() as self.open:
                connected = True
                for step in [connecting, *SCRIPT["steps"]]:
                    self.record(step, await self.play(step))
        except BaseException as error:
            # A server that is gone makes the farewell fail as well, which is no part of the recording.
            if connected:
                print(f"driver: {type(error).__name__}: {error}", file=sys.stderr)
            else:
                self.record(connecting, {"error": {"message": f"{type(error).__name__}: {error}"}})


anyio.run(Driver().run)
