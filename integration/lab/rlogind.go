package lab

// rlogind asks for the password of User and starts a shell. It only accepts connections from ports
// below 1024.
var rlogind = &service{
	name:      "rlogind",
	container: "classic",
	ports: []port{
		{name: "plain", direct: 513, greeting: greeting{privileged: true,
			send: "\x00lab\x00" + User + "\x00dumb/9600\x00", want: "Password: "}},
	},
	accounts: true,
	programs: []string{"in.rlogind", "socat"},
	asRoot:   true,
	mounts:   true,
	start: func(p *process) error {
		if err := p.useAccounts(); err != nil {
			return err
		}
		return p.inetd("PLAIN", p.programs["in.rlogind"])
	},
}
