package lab

// squid is an HTTP proxy that also gets ftp URLs, with basic authentication on a second port.
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
		// Its shared memory has the name of -n, which must be no other squid's.
		return p.spawn("squid", "-N", "-n", "lab@PORT_PLAIN@", "-f", "@DIR@/squid.conf")
	},
}
