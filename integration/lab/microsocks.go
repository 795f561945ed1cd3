package lab

// microsocks is a SOCKS5 proxy. Its second port requires a login.
var microsocks = &service{
	name: "microsocks",
	ports: []port{
		{name: "plain", published: 28190, greeting: greeting{send: "\x05\x01\x00", want: "\x05\x00"}},
		{name: "auth", published: 28191, greeting: greeting{send: "\x05\x01\x02", want: "\x05\x02"}},
	},
	accounts: true,
	programs: []string{"microsocks"},
	start: func(p *process) error {
		p.owner = nobody
		if err := p.spawn("microsocks", "-i", "@HOST@", "-p", "@PORT_PLAIN@"); err != nil {
			return err
		}
		return p.spawn("microsocks", "-i", "@HOST@", "-p", "@PORT_AUTH@", "-u", User, "-P", Password)
	},
}
