package lab

// mollyBrown serves the tree over Gemini, for the host name localhost with its port. It derives
// media types from extensions and generates directory pages.
var mollyBrown = &service{
	name: "molly-brown",
	ports: []port{
		{name: "plain", published: 28196,
			greeting: greeting{tls: true, send: "gemini://localhost/\r\n", want: "# Directory listing"}},
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
