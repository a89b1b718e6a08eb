"""The rig's own include of sm-ripext against the real one's names, types and numbers (version 1.3.2).

The list was taken from pawn/scripting/include/ripext of ErikMinekus/sm-ripext, a607852. Of the deprecated HTTPClient
nothing is here.
"""

import re
from collections.abc import Iterator

from tests.sourcemod.rig.compile import RIPEXT_INCLUDE

NATIVES = """
bool JSON.ToFile(const char[], int = 0)
bool JSON.ToString(char[], int, int = 0)
new JSONObject.JSONObject()
static JSONObject JSONObject.FromFile(const char[], int = 0)
static JSONObject JSONObject.FromString(const char[], int = 0)
JSON JSONObject.Get(const char[])
bool JSONObject.GetBool(const char[])
float JSONObject.GetFloat(const char[])
int JSONObject.GetInt(const char[])
bool JSONObject.GetInt64(const char[], char[], int)
bool JSONObject.GetString(const char[], char[], int)
bool JSONObject.IsNull(const char[])
bool JSONObject.HasKey(const char[])
bool JSONObject.Set(const char[], JSON)
bool JSONObject.SetBool(const char[], bool)
bool JSONObject.SetFloat(const char[], float)
bool JSONObject.SetInt(const char[], int)
bool JSONObject.SetInt64(const char[], const char[])
bool JSONObject.SetNull(const char[])
bool JSONObject.SetString(const char[], const char[])
bool JSONObject.Remove(const char[])
bool JSONObject.Clear()
JSONObjectKeys JSONObject.Keys()
JSONObject.Size.get int
bool JSONObjectKeys.ReadKey(char[], int)
new JSONArray.JSONArray()
static JSONArray JSONArray.FromFile(const char[], int = 0)
static JSONArray JSONArray.FromString(const char[], int = 0)
JSON JSONArray.Get(int)
bool JSONArray.GetBool(int)
float JSONArray.GetFloat(int)
int JSONArray.GetInt(int)
void JSONArray.GetInt64(int, char[], int)
bool JSONArray.GetString(int, char[], int)
bool JSONArray.IsNull(int)
bool JSONArray.Set(int, JSON)
bool JSONArray.SetBool(int, bool)
bool JSONArray.SetFloat(int, float)
bool JSONArray.SetInt(int, int)
bool JSONArray.SetInt64(int, const char[])
bool JSONArray.SetNull(int)
bool JSONArray.SetString(int, const char[])
bool JSONArray.Push(JSON)
bool JSONArray.PushBool(bool)
bool JSONArray.PushFloat(float)
bool JSONArray.PushInt(int)
bool JSONArray.PushInt64(const char[])
bool JSONArray.PushNull()
bool JSONArray.PushString(const char[])
bool JSONArray.Remove(int)
bool JSONArray.Clear()
JSONArray.Length.get int
new HTTPRequest.HTTPRequest(const char[])
void HTTPRequest.AppendFormParam(const char[], const char[], any ...)
void HTTPRequest.AppendQueryParam(const char[], const char[], any ...)
void HTTPRequest.SetBasicAuth(const char[], const char[])
void HTTPRequest.SetHeader(const char[], const char[], any ...)
void HTTPRequest.Get(HTTPRequestCallback, any = 0)
void HTTPRequest.Post(JSON, HTTPRequestCallback, any = 0)
void HTTPRequest.Put(JSON, HTTPRequestCallback, any = 0)
void HTTPRequest.Patch(JSON, HTTPRequestCallback, any = 0)
void HTTPRequest.Delete(HTTPRequestCallback, any = 0)
void HTTPRequest.DownloadFile(const char[], HTTPFileCallback, any = 0)
void HTTPRequest.UploadFile(const char[], HTTPFileCallback, any = 0)
void HTTPRequest.PostForm(HTTPRequestCallback, any = 0)
HTTPRequest.ConnectTimeout.get int
HTTPRequest.ConnectTimeout.set int
HTTPRequest.MaxRedirects.get int
HTTPRequest.MaxRedirects.set int
HTTPRequest.MaxRecvSpeed.get int
HTTPRequest.MaxRecvSpeed.set int
HTTPRequest.MaxSendSpeed.get int
HTTPRequest.MaxSendSpeed.set int
HTTPRequest.Timeout.get int
HTTPRequest.Timeout.set int
bool HTTPResponse.GetHeader(const char[], char[], int)
HTTPResponse.Data.get JSON
HTTPResponse.Status.get HTTPStatus
"""
STATUSES = """
Invalid=0 Continue=100 SwitchingProtocols=101 OK=200 Created=201 Accepted=202 NonAuthoritativeInformation=203
NoContent=204 ResetContent=205 PartialContent=206 MultipleChoices=300 MovedPermanently=301 Found=302
SeeOther=303 NotModified=304 UseProxy=305 TemporaryRedirect=307 PermanentRedirect=308 BadRequest=400
Unauthorized=401 PaymentRequired=402 Forbidden=403 NotFound=404 MethodNotAllowed=405 NotAcceptable=406
ProxyAuthenticationRequired=407 RequestTimeout=408 Conflict=409 Gone=410 LengthRequired=411
PreconditionFailed=412 RequestEntityTooLarge=413 RequestURITooLong=414 UnsupportedMediaType=415
RequestedRangeNotSatisfiable=416 ExpectationFailed=417 MisdirectedRequest=421 TooEarly=425 UpgradeRequired=426
PreconditionRequired=428 TooManyRequests=429 RequestHeaderFieldsTooLarge=431 UnavailableForLegalReasons=451
InternalServerError=500 NotImplemented=501 BadGateway=502 ServiceUnavailable=503 GatewayTimeout=504
HTTPVersionNotSupported=505 VariantAlsoNegotiates=506 NotExtended=510 NetworkAuthenticationRequired=511
"""
FLAGS = """
JSON_REJECT_DUPLICATES=0x1 JSON_DISABLE_EOF_CHECK=0x2 JSON_DECODE_ANY=0x4 JSON_DECODE_INT_AS_REAL=0x8
JSON_ALLOW_NUL=0x10 JSON_COMPACT=0x20 JSON_ENSURE_ASCII=0x40 JSON_SORT_KEYS=0x80 JSON_ENCODE_ANY=0x200
JSON_ESCAPE_SLASH=0x400 JSON_EMBED=0x10000 JSON_MAX_INDENT=0x1F
"""
OURS = (RIPEXT_INCLUDE / "ripext.inc").read_text()
NATIVE = re.compile(r"public (static )?native (?:(\w+) )?(\w+)\((.*)\);")


def natives(text: str) -> Iterator[str]:
    """What the natives of an include are called, take and give; names of parameters do not matter."""
    owner, held = "", None
    for line in map(str.strip, text.splitlines()):
        if found := re.match(r"methodmap (\w+)", line):
            owner = found[1]
        elif found := re.match(r"property (\w+) (\w+)", line):
            held = found
        elif line in ("}", "};"):
            held = None
        elif (found := NATIVE.match(line)) and held:
            yield f"{owner}.{held[2]}.{found[3]} {held[1]}"
        elif found:
            types = ", ".join(map(parameter, filter(None, found[4].split(","))))
            yield f"{found[1] or ''}{found[2] or 'new'} {owner}.{found[3]}({types})"


def parameter(text: str) -> str:
    """A parameter's type and default."""
    text = text.strip()
    return text if text.endswith("...") else re.sub(r"\w+( = \w+)?$", lambda m: (m[1] or "").strip(), text).strip()


def test_the_natives_are_those_of_the_real_include() -> None:
    assert sorted(natives(OURS)) == sorted(NATIVES.strip().splitlines())


def test_the_constants_are_those_of_the_real_include() -> None:
    found = {f"{name}={value}" for name, value in re.findall(r"\bHTTPStatus_(\w+) = (\d+)", OURS)}
    assert found == set(STATUSES.split())
    assert {f"{name}={value}" for name, value in re.findall(r"\b(JSON_\w+) = (0x\w+)", OURS)} == set(FLAGS.split())


def test_callbacks_and_the_extension_are_declared_as_in_the_real_include() -> None:
    callbacks = re.findall(r"typeset (\w+)\s*{(.*?)}", OURS, re.DOTALL)
    kinds = {
        name: re.findall(r"function void \((\w+) \w+, any value(, const char\[\] error)?\)", body)
        for name, body in callbacks
    }
    assert kinds == {
        "HTTPRequestCallback": [("HTTPResponse", ""), ("HTTPResponse", ", const char[] error")],
        "HTTPFileCallback": [("HTTPStatus", ""), ("HTTPStatus", ", const char[] error")],
    }
    extension = OURS.partition("public Extension __ext_rip")[2]
    assert re.findall(r'(\w+) = "([^"]*)"', extension) == [("name", "REST in Pawn"), ("file", "rip.ext")]
