package lab

// nginx serves the tree with HTTP/1.1 on both ports and with HTTP/2 on the TLS port. Further paths
// have other settings: see config/nginx.conf.
var nginx = &service{
	name: "nginx",
	ports: []port{
		{name: "plain", published: 28140, greeting: greeting{
			send: "GET /lab HTTP/1.0\r\nHost: localhost\r\n\r\n", want: "urlget lab, nginx"}},
		{name: "tls", published: 28141, greeting: greeting{tls: true,
			send: "GET /lab HTTP/1.0\r\nHost: localhost\r\n\r\n", want: "urlget lab, nginx"}},
	},
	accounts: true, // only below /auth/
	programs: []string{"nginx"},
	start: func(p *process) error {
		if err := p.config("nginx.conf"); err != nil {
			return err
		}
		return p.spawn("nginx", "-e", "@DIR@/log/start.log", "-p", "@DIR@", "-c", "@DIR@/nginx.conf")
	},
}
