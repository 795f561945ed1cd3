package lab

// telnetd negotiates many options, and then runs a script in place of login(1). The script greets
// by name, echoes lines, and knows the words size and exit.
var telnetd = &service{
	name:      "telnetd",
	container: "classic",
	ports: []port{
		// It begins with IAC WILL AUTHENTICATION, and waits for answers.
		{name: "plain", published: 28162, greeting: greeting{want: "\xff\xfb\x25"}},
	},
	accounts: true,
	programs: []string{"telnetd", "socat"},
	start: func(p *process) error {
		if err := p.config("fakelogin"); err != nil {
			return err
		}
		return p.inetd("PLAIN", p.programs["telnetd"]+" -h -E @DIR@/fakelogin")
	},
}
