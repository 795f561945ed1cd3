package lab

// mollyBrown serves the tree by Gemini, to those who call it localhost and name its port. It
// guesses media types by extensions, and makes pages of directories itself.
var mollyBrown = &service{
	name: "molly-brown",
	ports: []port{
		{name: "plain", published: 28196, greeting: greeting{tls: true, send: "gemini://localhost/\r\n", want: "# Directory listing"}},
	},
	programs: []string{"molly-brown"},
	start: func(p *process) error {
		p.owner = nobody
		if err := p.config("molly-brown.conf"); err != nil {
			return err
		}
		return p.spawn("molly-brown", "-c", "@DIR@/molly-brown.conf")
	},
}
