"""A client of the GSS-API of MIT Kerberos: prints the first token for a service, reads the service's answer, and says whether
that proves the service. Arguments: the service's principal, and whether it is to prove itself (mutual or alone)."""

import base64
import sys

import gssapi

SPNEGO = gssapi.OID.from_int_seq("1.3.6.1.5.5.2")
name = gssapi.Name(sys.argv[1], gssapi.NameType.kerberos_principal)
mutual = sys.argv[2] == "mutual"
flags = [gssapi.RequirementFlag.mutual_authentication if mutual else gssapi.RequirementFlag.integrity]
context = gssapi.SecurityContext(name=name, mech=SPNEGO, usage="initiate", flags=flags)
print(base64.b64encode(context.step()).decode(), flush=True)
for line in sys.stdin:
    try:
        context.step(base64.b64decode(line))
        proved = gssapi.RequirementFlag.mutual_authentication in context.actual_flags
        print("complete" if context.complete and proved == mutual else "incomplete", flush=True)
    except gssapi.exceptions.GSSError as error:
        print("refused", error, flush=True)
