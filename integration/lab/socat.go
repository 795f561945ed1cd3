package lab

// inetd runs command, split at blanks, for each connection to the port with this name in capitals,
// as inetd(8) does: the connection is its standard input and output.
func (p *process) inetd(port, command string) error {
	return p.spawn("socat", "TCP-LISTEN:@PORT_"+port+"@,bind=@HOST@,fork,reuseaddr", "EXEC:"+command+",nofork")
}
