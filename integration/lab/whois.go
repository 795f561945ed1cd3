package lab

// whois is a script with socat, because Debian has no whois server.
var whois = &service{
	name:      "whois",
	container: "classic",
	ports: []port{
		{name: "plain", published: 28161, greeting: greeting{send: "\r\n", want: "urlget lab, whois"}},
	},
	programs: []string{"socat"},
	start: func(p *process) error {
		if err := p.config("whoisd"); err != nil {
			return err
		}
		return p.inetd("PLAIN", "@DIR@/whoisd")
	},
}
