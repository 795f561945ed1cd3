package lab

// squid is an HTTP proxy that also retrieves ftp URLs. Its second port requires basic
// authentication.
var squid = &service{
	name: "squid",
	ports: []port{
		{name: "plain", published: 28187, greeting: greeting{send: proxyRequest, want: " urlget-lab ("}},
		{name: "auth", published: 28188, greeting: greeting{send: proxyRequest, want: " 407 "}},
	},
	accounts: true,
	programs: []string{"squid"},
	start: func(p *process) error {
		if err := p.config("squid.conf"); err != nil {
			return err
		}
		// The name for -n identifies its shared memory and must be unique.
		return p.spawn("squid", "-N", "-n", "lab@PORT_PLAIN@", "-f", "@DIR@/squid.conf")
	},
}
