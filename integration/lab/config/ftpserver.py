import sys
from pyftpdlib.authorizers import DummyAuthorizer
from pyftpdlib.handlers import TLS_FTPHandler
from pyftpdlib.servers import FTPServer

users = DummyAuthorizer()
users.add_user("@USER@", "@PASSWORD@", "@ROOT@", perm="elr")
users.add_anonymous("@ROOT@")
handler = TLS_FTPHandler
handler.authorizer = users
handler.banner = "urlget lab, pyftpdlib"
handler.certfile = "@DIR@/all.pem"
handler.passive_ports = range(@PASSIVE_MIN@, @PASSIVE_MAX@ + 1)
handler.masquerade_address = "@ADVERTISED@"
handler.use_gmt_times = True
FTPServer(("@HOST@", @PORT_PLAIN@), handler).serve_forever()
