package lab

// fingerd knows one user. Its lines end with LF.
var fingerd = &service{
	name:      "fingerd",
	container: "classic",
	ports: []port{
		{name: "plain", published: 28160, greeting: greeting{send: "labuser\r\n", want: "Name: Lab Tester"}},
	},
	programs: []string{"in.fingerd", "socat"},
	start: func(p *process) error {
		p.owner = nobody
		if err := p.config("fakefinger"); err != nil {
			return err
		}
		return p.inetd("PLAIN", p.programs["in.fingerd"]+" -p @DIR@/fakefinger")
	},
}
