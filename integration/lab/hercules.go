package lab

// hercules is an emulated mainframe without an operating system. Its console port is a real TN3270
// server. It negotiates the terminal type, EOR and BINARY, and sends a screen.
var hercules = &service{
	name:      "hercules",
	container: "classic",
	ports: []port{
		// It starts with IAC DO TERMINAL-TYPE.
		{name: "plain", published: 28163, greeting: greeting{want: "\xff\xfd\x18"}},
	},
	programs: []string{"hercules"},
	start: func(p *process) error {
		p.owner = nobody
		p.grace = 0 // it reacts slowly to SIGTERM, and has nothing to save
		if err := p.config("hercules.cnf"); err != nil {
			return err
		}
		return p.spawn("hercules", "-d", "-f", "@DIR@/hercules.cnf")
	},
}
