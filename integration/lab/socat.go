package lab

// inetd runs a command, split at spaces, for each connection to the port with this upper-case name.
// As with inetd(8), the connection is its standard input and output.
func (p *process) inetd(port, command string) error {
	return p.spawn("socat", "TCP-LISTEN:@PORT_"+port+"@,bind=@HOST@,fork,reuseaddr",
		"EXEC:"+command+",nofork")
}
