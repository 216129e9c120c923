# Prints a snapshot of the job of a process, as the programs in other languages do.

require 'nvshmemrs_inspect'

def name(values, number)
  values.constants.find { |one| values.const_get(one) == number }.to_s.downcase
end

job = NvshmemrsInspect.attach(ARGV[0].to_i)
raise 'a copy is the same object' unless job.dup.equal?(job) && job.clone.equal?(job)

begin
  Marshal.dump(job)
  raise 'a job is no data'
rescue TypeError => e
  raise unless e.message.include?('attach again')
end
seen = job.snapshot(20.0)
puts "#{name(NvshmemrsInspect::Stage, seen.stage)} of #{seen.n_pes}, culprits #{seen.culprits.join(',')}"
seen.pes.each do |pe|
  details = pe.details
  raise pe.silence unless details.fresh && pe.silence.empty?

  heap = details.heap
  puts "PE #{pe.pe} is #{name(NvshmemrsInspect::State, pe.state)} and waits for #{pe.waits_for.join(',')}"
  puts "library #{details.library}, heap #{heap.memory} #{heap.bytes} #{heap.used_bytes} #{heap.allocations}"
  details.allocations.each { |one| puts "allocation #{one.offset} #{one.bytes} #{one.place}" }
  details.streams.each { |one| puts "stream #{one.submitted} #{one.done} #{one.place}" }
  details.settings.each { |one| puts "setting #{one.name} #{one.source}" unless one.source == 'default' }
  if details.checker
    puts "findings #{details.checker.found}"
    details.checker.reports.each { |report| print "#{report}\n" }
  end
  (details.traffic || []).each do |one|
    puts "traffic #{one.pe} #{one.puts} #{one.put_bytes} #{one.gets} #{one.get_bytes} #{one.atomics} #{one.signals}"
  end
end
seen.teams.each do |team|
  puts "team #{team.number} #{team.name} #{team.members.join(',')} #{team.collectives.join(',')} #{team.place}"
end
seen.waits.each do |wait|
  limit = wait.gives_up_in.nil? ? 'never' : wait.limit
  puts "wait of #{wait.pe} in #{wait.operation} on #{wait.team} #{wait.epoch} for #{wait.waits_for.join(',')}, #{limit}"
end
begin
  NvshmemrsInspect.attach(ARGV[1].to_i)
rescue NvshmemrsInspect::InspectError::NoJob => e
  puts e.message
end
