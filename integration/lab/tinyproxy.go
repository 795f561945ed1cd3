package lab

// tinyproxy is an HTTP proxy. Its second port requires basic authentication.
var tinyproxy = &service{
	name: "tinyproxy",
	ports: []port{
		{name: "plain", published: 28185, greeting: greeting{send: proxyRequest, want: "Server: tinyproxy"}},
		{name: "auth", published: 28186, greeting: greeting{send: proxyRequest, want: " 407 "}},
	},
	accounts: true,
	programs: []string{"tinyproxy"},
	start: func(p *process) error {
		p.owner = nobody
		if err := p.config("tinyproxy.conf", "tinyproxy-auth.conf"); err != nil {
			return err
		}
		if err := p.spawn("tinyproxy", "-d", "-c", "@DIR@/tinyproxy.conf"); err != nil {
			return err
		}
		return p.spawn("tinyproxy", "-d", "-c", "@DIR@/tinyproxy-auth.conf")
	},
}

// proxyRequest makes an HTTP proxy return its own error, without traffic to other machines.
const proxyRequest = "GET http://127.0.0.1:1/ HTTP/1.0\r\n\r\n"
