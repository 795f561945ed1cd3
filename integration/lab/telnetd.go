package lab

// telnetd negotiates many options, and runs a script instead of login(1). The script greets the
// user, echoes lines, and knows the commands size and exit.
var telnetd = &service{
	name:      "telnetd",
	container: "classic",
	ports: []port{
		// It starts with IAC WILL AUTHENTICATION and waits for a response.
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
