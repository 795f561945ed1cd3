package lab

// gophernicus serves menus and text over plain Gopher. Menus end with a dot line, text does not. It
// converts the line ends of text to CR LF.
var gophernicus = &service{
	name: "gophernicus",
	ports: []port{
		{name: "plain", published: 28150,
			greeting: greeting{send: "/gopher\r\n", want: "iWelcome to the lab."}},
	},
	programs: []string{"gophernicus", "socat"},
	// In selectors, it treats ? as the start of a query, and decodes those that start with # or %.
	// It refuses names with a leading dot.
	unserved: []string{
		NamesDir + "/question?.txt", NamesDir + "/hash#.txt", NamesDir + "/percent%.txt",
		NamesDir + "/percent%41.txt", NamesDir + "/.leading-dot.txt",
	},
	start: func(p *process) error {
		p.owner = nobody // it refuses to run as root
		return p.inetd("PLAIN", p.programs["gophernicus"]+
			" -r @ROOT@ -h 127.0.0.1 -p @PORT_PLAIN@ -c /gopher/cgi-bin -i 2000000000 -k 2000000000 -nf -nu")
	},
}
